package media

// Image is a decoded still picture: Width*Height pixels of three bytes (R, G, B; sRGB), rows from the top, without padding.
type Image struct {
	Width, Height int
	RGB           []byte
}
