package pipeline

import "telefuser/workers/media"

// halfWhite is half of the largest value of a byte: a model's colours go from -1 to 1.
const halfWhite = 127.5

// framesOf cuts planes into frames of width x height.
func framesOf(planes []byte, width, height int) []media.Frame {
	var frames []media.Frame
	for one := media.FrameBytes(width, height); len(planes) >= one; planes = planes[one:] {
		frames = append(frames, media.Frame{Width: width, Height: height, Data: planes[:one:one]})
	}
	return frames
}

// coloursOf turns rows of RGB into a model's colours.
func coloursOf(rgb []byte) []float32 {
	out := make([]float32, len(rgb))
	for i, v := range rgb {
		out[i] = float32(v)/halfWhite - 1
	}
	return out
}

// grey is a picture of nothing.
func grey(width, height int) *media.Image {
	img := &media.Image{Width: width, Height: height, RGB: make([]byte, width*height*3)}
	for i := range img.RGB {
		img.RGB[i] = 1 << 7
	}
	return img
}
