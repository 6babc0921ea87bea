package wan_test

import (
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
)

// BenchmarkTinyWorld makes chunks of 16 frames with the true shapes of tiny-world, one part after the other on all processors.
func BenchmarkTinyWorld(b *testing.B) {
	c := smallWorld()
	c.VAE, c.DiT, c.Width, c.Height = weights.TinyVAE(), weights.TinyDiT(), 160, 96
	f := fly(b, newWorld(b, kernels.NewCPU(kernels.CPUOptions{}), c), nil, 0, 1)
	var latents []float32
	for range 3 { // the window fills up, the condition settles
		latents, _ = f.next()
		f.frames(latents)
	}
	b.Run("denoise", func(b *testing.B) {
		for b.Loop() {
			latents, _ = f.next()
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			f.frames(latents)
		}
	})
	b.Run("encode", func(b *testing.B) {
		e, err := wan.NewEncoder(kernels.NewCPU(kernels.CPUOptions{}), weights.Random(11, c.VAE.Blueprint()), c.VAE, kernels.F32, 4, 96, 160)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			s, err := e.NewState()
			if err != nil {
				b.Fatal(err)
			}
			if _, err := e.Encode(s, make([]float32, 13*96*160*3)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
