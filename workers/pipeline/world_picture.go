package pipeline

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"

	"telefuser/workers/media"
)

// pictureQuality is that of the JPEG in a state, of 1..100: a state is written with every chunk, so it has to be small.
const pictureQuality = 90

// packPicture makes a JPEG of a frame's planes as they are.
func packPicture(f media.Frame) ([]byte, error) {
	var out bytes.Buffer
	y, u, v := f.Planes()
	img := &image.YCbCr{Y: y, Cb: u, Cr: v, YStride: f.Width, CStride: f.Width / 2, SubsampleRatio: image.YCbCrSubsampleRatio420, Rect: image.Rect(0, 0, f.Width, f.Height)}
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: pictureQuality}); err != nil {
		return nil, fmt.Errorf("pack the last picture: %w", err)
	}
	return out.Bytes(), nil
}

// unpackPicture makes rows of RGB of what packPicture made of a frame of width x height. It fails with errWorldState.
func unpackPicture(data []byte, width, height int) ([]byte, error) {
	size, err := jpeg.DecodeConfig(bytes.NewReader(data))
	if err == nil && (size.Width != width || size.Height != height) {
		err = fmt.Errorf("it is of %dx%d", size.Width, size.Height)
	}
	var decoded image.Image
	if err == nil {
		decoded, err = jpeg.Decode(bytes.NewReader(data))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the last picture: %w", errWorldState, err)
	}
	img, ok := decoded.(*image.YCbCr)
	if !ok || img.SubsampleRatio != image.YCbCrSubsampleRatio420 {
		return nil, fmt.Errorf("%w: the last picture has other planes", errWorldState)
	}
	f := media.NewFrame(width, height)
	y, u, v := f.Planes()
	copyRows(y, img.Y, width, img.YStride)
	copyRows(u, img.Cb, width/2, img.CStride)
	copyRows(v, img.Cr, width/2, img.CStride)
	return media.ToRGB(f).RGB, nil
}

// copyRows copies rows of a width out of a plane whose rows are a stride apart.
func copyRows(to, from []byte, width, stride int) {
	for at := 0; at*width < len(to); at++ {
		copy(to[at*width:][:width], from[at*stride:])
	}
}
