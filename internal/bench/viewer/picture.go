package viewer

import (
	"bytes"
	"errors"
	"fmt"
	"image"

	"golang.org/x/image/vp8"
)

// ErrNoKeyframe means that a frame cannot be decoded without the ones before it.
var ErrNoKeyframe = errors.New("viewer: no keyframe")

// Decode makes a picture of a keyframe. It is plain Go: a browser's decoder takes a fraction of its time.
func Decode(f Frame) (*image.YCbCr, error) {
	if !f.Key {
		return nil, ErrNoKeyframe
	}
	d := vp8.NewDecoder()
	d.Init(bytes.NewReader(f.Data), len(f.Data))
	if _, err := d.DecodeFrameHeader(); err != nil {
		return nil, fmt.Errorf("viewer: decode: %w", err)
	}
	picture, err := d.DecodeFrame()
	if err != nil {
		return nil, fmt.Errorf("viewer: decode: %w", err)
	}
	return picture, nil
}
