package terrain

import "telefuser/workers/media"

// dither spreads the rounding of neighbouring pixels over a 4 x 4 pattern, so that slow gradients show no bands. The thresholds are in
// 1/4096 of an 8-bit step.
func dither() *[4][4]uint64 {
	return &[4][4]uint64{
		{128, 2176, 640, 2688}, {3200, 1152, 3712, 1664}, {896, 2944, 384, 2432}, {3968, 1920, 3456, 1408},
	}
}

// planes writes the strip's columns to the three planes of dst, from column x0 on; width is even.
func (s *strip) planes(dst media.Frame, x0, width int) {
	luma, cb, cr := dst.Planes()
	half := dst.Width / 2
	pattern := dither()
	for y := 0; y < dst.Height; y += 2 {
		upper, lower := luma[y*dst.Width+x0:][:width], luma[(y+1)*dst.Width+x0:][:width]
		blue, red := cb[y/2*half+x0/2:][:width/2], cr[y/2*half+x0/2:][:width/2]
		even, odd := &pattern[y&3], &pattern[(y+1)&3]
		for x := 0; x+1 < width; x += 2 {
			left, right := s.sums[x*s.stride+y:][:2], s.sums[(x+1)*s.stride+y:][:2]
			upper[x] = byte((left[0]&laneMask + even[x&3]) >> 12)
			upper[x+1] = byte((right[0]&laneMask + even[(x+1)&3]) >> 12)
			lower[x] = byte((left[1]&laneMask + odd[x&3]) >> 12)
			lower[x+1] = byte((right[1]&laneMask + odd[(x+1)&3]) >> 12)
			// Two sums of 20 bits fit a lane of 21, four would not.
			a, b := left[0]+left[1], right[0]+right[1]
			blue[x/2] = byte((a>>laneBits&laneMask + b>>laneBits&laneMask + 8192) >> 14)
			red[x/2] = byte((a>>(2*laneBits) + b>>(2*laneBits) + 8192) >> 14)
		}
	}
}
