package media

import (
	"context"
	"io"
)

// ImageLimits bounds what is decoded. Zero values mean the defaults.
type ImageLimits struct {
	// FileBytesMax bounds the file (0: 20 MiB), SideMax each side in pixels (0: 8192), PixelsMax their product (0: 40 million).
	FileBytesMax int64
	SideMax      int
	PixelsMax    int
}

// DecodeImage reads one still PNG, JPEG or WebP, told apart by its bytes. It reads no more than the limit, decodes nothing before the size
// is known to be within the limits, turns JPEGs upright by their EXIF orientation and lays transparency on black.
// Errors: ErrImageType, ErrImageTooLarge, ErrImageCorrupt, the reader's own or the cause of ctx, which ends the wait for a free decoder.
func DecodeImage(ctx context.Context, r io.Reader, l ImageLimits) (Image, error) { panic("in work") }

// EncodePNG makes a clean PNG of the picture, which is all that is ever stored of a foreign image.
func EncodePNG(img Image) ([]byte, error) { panic("in work") }
