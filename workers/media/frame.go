package media

// Frame is one picture in I420: Width*Height luma bytes, then two chroma planes of (Width/2)*(Height/2) bytes each, BT.709 limited
// range, without padding. Width and Height are even.
type Frame struct {
	Width, Height int
	Data          []byte
}

// FrameBytes is the length of Data for a frame of the given even size.
func FrameBytes(width, height int) int { return width * height * 3 / 2 }

// NewFrame allocates a frame of the given even size.
func NewFrame(width, height int) Frame {
	return Frame{Width: width, Height: height, Data: make([]byte, FrameBytes(width, height))}
}

// Planes returns the luma and the two chroma planes; they share memory with the frame.
func (f Frame) Planes() (y, u, v []byte) {
	n, c := f.Width*f.Height, f.Width*f.Height/4
	return f.Data[:n], f.Data[n : n+c], f.Data[n+c : n+2*c]
}
