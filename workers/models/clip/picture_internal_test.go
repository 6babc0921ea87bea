package clip

import (
	"bytes"
	"math"
	"testing"

	"telefuser/workers/media"
)

// TestOneColourStaysOne draws pictures of one colour larger, smaller and out of shape.
func TestOneColourStaysOne(t *testing.T) {
	want := [3]float64{(1 - 0.48145466) / 0.26862954, (0 - 0.4578275) / 0.26130258, (51.0/255 - 0.40821073) / 0.27577711}
	for _, size := range [][2]int{{1, 1}, {3, 40}, {16, 16}, {200, 9}} {
		p := media.Image{Width: size[0], Height: size[1], RGB: bytes.Repeat([]byte{255, 0, 51}, size[0]*size[1])}
		for i, v := range look(p, 16) {
			if w := want[i/256]; math.Abs(float64(v)-w) > 1e-6 {
				t.Fatalf("%v: element %d is %g, want %g", size, i, v, w)
			}
		}
	}
}

// TestAPictureOfTheSizeIsItself cuts it into patches, too: channels, then rows, then columns.
func TestAPictureOfTheSizeIsItself(t *testing.T) {
	p := media.Image{Width: 4, Height: 4}
	for i := range 48 {
		p.RGB = append(p.RGB, byte(5*i))
	}
	mean, deviation := means(), deviations()
	patches := cut(look(p, 4), 4, 2, 16)
	for i, v := range patches {
		patch, at := i/16, i%16
		if at >= 12 {
			if v != 0 {
				t.Errorf("patch %d: element %d is %g, want nothing", patch, at, v)
			}
			continue
		}
		c, y, x := at/4, patch/2*2+at/2%2, patch%2*2+at%2
		if want := (float64(5*((y*4+x)*3+c))/255 - mean[c]) / deviation[c]; math.Abs(float64(v)-want) > 1e-6 {
			t.Errorf("patch %d: element %d is %g, want %g", patch, at, v, want)
		}
	}
}
