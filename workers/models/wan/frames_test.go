package wan_test

import (
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/media"
)

// TestFramesAreThePicturesAsPlanes decodes two chunks in both ways and turns the pictures into planes by hand. A sample may differ by one: halves are
// rounded on either side.
func TestFramesAreThePicturesAsPlanes(t *testing.T) {
	c := smallWorld()
	w := newWorld(t, kernels.NewCPU(kernels.CPUOptions{}), c)
	f := fly(t, w, stripes(c.Width, c.Height), 1, 7)
	other, err := w.NewVideo(nil)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range 2 {
		latents, _ := f.next()
		rgb := f.frames(latents)
		planes, err := w.Frames(other, latents)
		if err != nil {
			t.Fatal(err)
		}
		const one = 64 * 32
		if len(planes) != len(rgb)/2 || len(rgb) != one*3*(13+3*chunk) {
			t.Fatalf("chunk %d: %d bytes for %d numbers", chunk, len(planes), len(rgb))
		}
		for n := range len(rgb) / (3 * one) {
			img := media.Image{Width: c.Width, Height: c.Height, RGB: make([]byte, 3*one)}
			for i, v := range rgb[n*3*one : (n+1)*3*one] {
				img.RGB[i] = byte(min(max((v+1)*127.5+0.5, 0), 255))
			}
			want, differ := media.FromRGB(img).Data, 0
			for i, v := range planes[n*one*3/2 : (n+1)*one*3/2] {
				if d := int(v) - int(want[i]); d < -1 || d > 1 {
					t.Fatalf("chunk %d, frame %d: sample %d is %d, want %d", chunk, n, i, v, want[i])
				} else if d != 0 {
					differ++
				}
			}
			if differ > one/100 {
				t.Errorf("chunk %d, frame %d: %d samples differ", chunk, n, differ)
			}
		}
	}
	if _, err := w.Frames(other, make([]float32, 3)); err == nil {
		t.Error("three numbers are a chunk")
	}
}
