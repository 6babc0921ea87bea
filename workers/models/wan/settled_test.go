package wan_test

import (
	"slices"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
)

// TestSettled encodes a frame of noise and grey ones behind it: from Settled on nothing of the first is left, and just before something is.
func TestSettled(t *testing.T) {
	if n := wan.Settled(weights.Wan21VAE()); n != 30 {
		t.Errorf("Wan 2.1 settles after %d latent frames", n)
	}
	c := smallWorld().VAE
	const side, chunk, chunks = 32, 4, 8
	e, err := wan.NewEncoder(kernels.NewCPU(kernels.CPUOptions{}), weights.Random(11, c.Blueprint()), c, kernels.F32, chunk, side, side)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(picture []float32) (all []float32) {
		s, err := e.NewState()
		if err != nil {
			t.Fatal(err)
		}
		for i := range chunks {
			clip := make([]float32, 4*chunk*side*side*3)
			if i == 0 {
				clip = clip[:(4*chunk-3)*side*side*3]
				copy(clip, picture)
			}
			z, err := e.Encode(s, clip)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, z...)
		}
		return all
	}
	a, b := encode(numbers(3*side*side, 1)), encode(numbers(3*side*side, 2))
	one, last := len(a)/chunk/chunks, wan.Settled(c)-1
	same := func(i int) bool { return slices.Equal(a[i*one:(i+1)*one], b[i*one:(i+1)*one]) }
	if !same(last) || !same(last+1) || same(last-1) {
		t.Errorf("latent frames %d to %d of two pictures: same %v %v %v", last-1, last+1, same(last-1), same(last), same(last+1))
	}
}
