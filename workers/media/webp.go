package media

import (
	"image"
	"io"

	"golang.org/x/image/webp"
)

// decodeWebP widens the planes of a lossy picture. The decoder hands them on as they are coded, in limited range, in a type that means full
// range: without this, black would be dark grey and white light grey.
func decodeWebP(r io.Reader) (image.Image, error) {
	img, err := webp.Decode(r)
	switch planes := img.(type) {
	case *image.YCbCr:
		widen(planes)
	case *image.NYCbCrA:
		widen(&planes.YCbCr)
	}
	return img, err
}

func widen(planes *image.YCbCr) {
	var luma, chroma [256]byte
	for i := range 256 {
		luma[i] = clamp(int32((i-16)*255<<fixedBits/219 + half))
		chroma[i] = clamp(int32((i-128)*255<<fixedBits/224 + 128<<fixedBits + half))
	}
	apply(planes.Y, &luma)
	apply(planes.Cb, &chroma)
	apply(planes.Cr, &chroma)
}

func apply(p []byte, table *[256]byte) {
	for i, b := range p {
		p[i] = table[b]
	}
}
