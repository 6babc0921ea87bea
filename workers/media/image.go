package media

import (
	"image"
	"image/color"
)

// Image is a decoded still picture: Width*Height pixels of three bytes (R, G, B; sRGB), rows from the top, without padding.
type Image struct {
	Width, Height int
	RGB           []byte
}

// standard shows an Image to the standard library without copying it.
type standard struct{ Image }

// pixel is three bytes within an Image.
type pixel [3]byte

// RGBA answers the pixel's opaque colour in 16 bits a channel.
func (p *pixel) RGBA() (r, g, b, a uint32) {
	return uint32(p[0]) * 0x101, uint32(p[1]) * 0x101, uint32(p[2]) * 0x101, 0xffff
}

// ColorModel is the model of opaque bytes.
func (s standard) ColorModel() color.Model { return color.RGBAModel }

// Bounds begins at the origin.
func (s standard) Bounds() image.Rectangle { return image.Rect(0, 0, s.Width, s.Height) }

// Opaque spares encoders the search for transparency.
func (s standard) Opaque() bool { return true }

// At points into the picture; it allocates nothing.
func (s standard) At(x, y int) color.Color { return (*pixel)(s.RGB[(y*s.Width+x)*3:]) }

// RGBA64At is At for scalers.
func (s standard) RGBA64At(x, y int) color.RGBA64 {
	r, g, b, a := (*pixel)(s.RGB[(y*s.Width+x)*3:]).RGBA()
	return color.RGBA64{R: uint16(r), G: uint16(g), B: uint16(b), A: uint16(a)}
}
