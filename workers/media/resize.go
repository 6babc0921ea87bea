package media

import (
	"image"

	"golang.org/x/image/draw"
)

// Resize scales the picture to w x h pixels, both at least 1, without keeping its proportions. Shrinking averages over the area that becomes
// one pixel, enlarging interpolates between two.
func Resize(img Image, w, h int) Image {
	if w == img.Width && h == img.Height {
		return Image{Width: w, Height: h, RGB: append([]byte(nil), img.RGB...)}
	}
	src := standard{img}
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.BiLinear.Scale(dst, dst.Bounds(), src, src.Bounds(), draw.Src, nil)
	out := Image{Width: w, Height: h, RGB: make([]byte, w*h*3)}
	for i := range w * h {
		copy(out.RGB[i*3:i*3+3], dst.Pix[i*4:i*4+3])
	}
	return out
}
