package media

// Frame is one picture in I420: Width*Height luma bytes, then two chroma planes of (Width/2)*(Height/2) bytes each, BT.709 limited
// range, without padding. Width and Height are even.
type Frame struct {
	Width, Height int
	Data          []byte

	// back gives lent memory back; nil where the frame owns its own.
	back func()
}

// FrameBytes is the length of Data for a frame of the given even size.
func FrameBytes(width, height int) int { return width * height * 3 / 2 }

// NewFrame allocates a frame of the given even size.
func NewFrame(width, height int) Frame {
	return Frame{Width: width, Height: height, Data: make([]byte, FrameBytes(width, height))}
}

// LendFrame makes a frame of memory that belongs to somebody else, who hears through back that it is free again.
func LendFrame(width, height int, data []byte, back func()) Frame {
	return Frame{Width: width, Height: height, Data: data, back: back}
}

// Release says that the frame is no longer needed: its memory may hold another picture from now on. A frame that owns its memory does nothing.
func (f Frame) Release() {
	if f.back != nil {
		f.back()
	}
}

// Clone is a frame with memory of its own and the same picture.
func (f Frame) Clone() Frame {
	return Frame{Width: f.Width, Height: f.Height, Data: append([]byte(nil), f.Data...)}
}

// Planes returns the luma and the two chroma planes; they share memory with the frame.
func (f Frame) Planes() (y, u, v []byte) {
	n, c := f.Width*f.Height, f.Width*f.Height/4
	return f.Data[:n], f.Data[n : n+c], f.Data[n+c : n+2*c]
}
