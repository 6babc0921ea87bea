package media

import (
	"bytes"
	"fmt"
	"image/png"
)

// EncodePNG makes a clean PNG of the picture, which is all that is ever stored of a foreign image.
func EncodePNG(img Image) ([]byte, error) {
	if img.Width < 1 || img.Height < 1 || len(img.RGB) != img.Width*img.Height*3 {
		return nil, fmt.Errorf("%w: %d x %d pixels in %d bytes", ErrGeometry, img.Width, img.Height, len(img.RGB))
	}
	var buf bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := enc.Encode(&buf, standard{img}); err != nil {
		return nil, fmt.Errorf("media: encode PNG: %w", err)
	}
	return buf.Bytes(), nil
}
