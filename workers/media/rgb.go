package media

// The BT.709 limited-range matrix in 16-bit fixed point: luma spans 16..235 and chroma 16..240. The rows of each chroma sum to zero, so that
// grey stays grey.
const (
	lumaR, lumaG, lumaB = 11966, 40254, 4064
	cbR, cbG, cbB       = -6596, -22188, 28784
	crR, crG, crB       = 28784, -26145, -2639

	toRGBLuma    = 76309
	toRGBRedCr   = 117489
	toRGBGreenCb = -13976
	toRGBGreenCr = -34925
	toRGBBlueCb  = 138439
)

const (
	fixedBits = 16
	half      = 1 << (fixedBits - 1)
	// lumaBias is black, chromaBias is grey, both with the half that rounds. Chroma is taken from the sum of four pixels: two bits more.
	lumaBias   = 16<<fixedBits + half
	chromaBits = fixedBits + 2
	chromaBias = 128<<chromaBits + 1<<(chromaBits-1)
)

// FromRGB converts to I420, BT.709 limited range; chroma is the mean of 2x2 pixels. Odd sizes lose their last column or row.
func FromRGB(img Image) Frame {
	f := NewFrame(img.Width&^1, img.Height&^1)
	y, u, v := f.Planes()
	for row := 0; row < f.Height; row += 2 {
		top := img.RGB[row*img.Width*3:][:f.Width*3]
		bottom := img.RGB[(row+1)*img.Width*3:][:f.Width*3]
		c := row / 2 * (f.Width / 2)
		rowsFromRGB(top, bottom, y[row*f.Width:][:f.Width], y[(row+1)*f.Width:][:f.Width], u[c:][:f.Width/2], v[c:][:f.Width/2])
	}
	return f
}

// rowsFromRGB converts two rows of pixels into two rows of luma and one of each chroma.
func rowsFromRGB(top, bottom, yTop, yBottom, u, v []byte) {
	for i := range u {
		a, b := top[i*6:][:6:6], bottom[i*6:][:6:6]
		r0, g0, b0 := int32(a[0]), int32(a[1]), int32(a[2])
		r1, g1, b1 := int32(a[3]), int32(a[4]), int32(a[5])
		r2, g2, b2 := int32(b[0]), int32(b[1]), int32(b[2])
		r3, g3, b3 := int32(b[3]), int32(b[4]), int32(b[5])
		upper, lower := yTop[i*2:][:2:2], yBottom[i*2:][:2:2]
		upper[0] = luma(r0, g0, b0)
		upper[1] = luma(r1, g1, b1)
		lower[0] = luma(r2, g2, b2)
		lower[1] = luma(r3, g3, b3)
		rs, gs, bs := r0+r1+r2+r3, g0+g1+g2+g3, b0+b1+b2+b3
		u[i] = byte((cbR*rs + cbG*gs + cbB*bs + chromaBias) >> chromaBits)
		v[i] = byte((crR*rs + crG*gs + crB*bs + chromaBias) >> chromaBits)
	}
}

func luma(r, g, b int32) byte { return byte((lumaR*r + lumaG*g + lumaB*b + lumaBias) >> fixedBits) }

// ToRGB converts from I420, BT.709 limited range. Each chroma sample colours its 2x2 pixels.
func ToRGB(f Frame) Image {
	img := Image{Width: f.Width, Height: f.Height, RGB: make([]byte, f.Width*f.Height*3)}
	y, u, v := f.Planes()
	for row := range f.Height {
		c := row / 2 * (f.Width / 2)
		rowToRGB(y[row*f.Width:][:f.Width], u[c:][:f.Width/2], v[c:][:f.Width/2], img.RGB[row*f.Width*3:][:f.Width*3])
	}
	return img
}

func rowToRGB(y, u, v, rgb []byte) {
	for i := range u {
		d, e := int32(u[i])-128, int32(v[i])-128
		red := toRGBRedCr*e + half
		green := toRGBGreenCb*d + toRGBGreenCr*e + half
		blue := toRGBBlueCb*d + half
		luma, out := y[i*2:][:2:2], rgb[i*6:][:6:6]
		c0, c1 := toRGBLuma*(int32(luma[0])-16), toRGBLuma*(int32(luma[1])-16)
		out[0], out[1], out[2] = clamp(c0+red), clamp(c0+green), clamp(c0+blue)
		out[3], out[4], out[5] = clamp(c1+red), clamp(c1+green), clamp(c1+blue)
	}
}

// clamp takes the whole part of a fixed-point number and keeps it in a byte.
func clamp(x int32) byte {
	x >>= fixedBits
	if uint32(x) > 255 {
		// All ones for what is above, zero for what is below.
		return byte(^(x >> 31))
	}
	return byte(x)
}
