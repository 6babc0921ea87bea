package wan_test

import (
	"errors"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
)

// smallTI2V is a small Wan 2.2 TI2V 5B.
func smallTI2V() wan.FilmConfig {
	c := wan.FilmConfig{
		VAE: weights.Wan22VAE(), Given: true, Chunk: 2, Settle: 1,
		DiT: weights.DiTConfig{Dim: 128, FFN: 64, Layers: 2, Heads: 1, In: 48, Out: 48, Patch: [3]int{1, 2, 2}, TextDim: 16, TextLen: 4, Freq: 32, Local: -1, Eps: 1e-6},
	}
	c.VAE.Base, c.VAE.DecoderBase = 8, 16
	return c
}

func newTI2V(b wan.WorldBackends, c wan.FilmConfig) (*wan.Film, error) {
	return wan.NewFilm(b, weights.Random(11, c.VAE.Blueprint()), []*weights.Set{weights.Random(12, c.DiT.Blueprint())}, c)
}

// TestTI2VFitsAGPU makes videos with and without a picture on a GPU: every operation has a kernel there and tensors that it takes.
func TestTI2VFitsAGPU(t *testing.T) {
	b, held := onMadeUpGPU(t)
	c := smallTI2V()
	c.Type = kernels.BF16
	f, err := newTI2V(b, c)
	if err != nil {
		t.Fatal(err)
	}
	var first int64
	for i, picture := range [][]float32{make([]float32, 3*64*96), nil, make([]float32, 3*64*96), nil} {
		take, err := f.Begin(3, 64, 96)
		if err != nil {
			t.Fatal(err)
		}
		if err := take.Lead(make([]float32, 16), make([]float32, 16), []float64{2}); err != nil {
			t.Fatal(err)
		}
		if picture != nil {
			if err := take.Picture(picture); err != nil {
				t.Fatal(err)
			}
		}
		solver, err := wan.NewUniPC(wan.FlowSigmas(5, 2))
		if err != nil {
			t.Fatal(err)
		}
		latents, err := take.Walk(t.Context(), solver, wan.SeededNoise(1, 0), func(float64) {})
		if err != nil {
			t.Fatal(err)
		}
		const one = 64 * 96 * 3 / 2
		for chunk, frames := range []int{5, 4} {
			each := len(latents) / 3
			planes, err := take.Frames(latents[2*chunk*each : min(2*chunk+2, 3)*each])
			if err != nil || len(planes) != frames*one {
				t.Fatalf("chunk %d: %d bytes, %v", chunk, len(planes), err)
			}
		}
		if i == 1 {
			first = held()
		}
	}
	if now := held(); now != first {
		t.Errorf("after the last video the GPU holds %d bytes, %d after the second", now, first)
	}
}

// TestTI2VRefuses makes models and videos that cannot be.
func TestTI2VRefuses(t *testing.T) {
	for name, change := range map[string]func(*wan.FilmConfig){
		"a picture in two ways":    func(c *wan.FilmConfig) { c.DiT.In = 2*48 + 4 },
		"latents of another width": func(c *wan.FilmConfig) { c.DiT.In, c.DiT.Out = 16, 16 },
		"no mean":                  func(c *wan.FilmConfig) { c.VAE.Multiples = []int{1, 3, 4, 4} },
		"no copies":                func(c *wan.FilmConfig) { c.VAE.Multiples = []int{1, 1, 8, 8} },
		"a large fold":             func(c *wan.FilmConfig) { c.VAE.Patch = 3 },
		"odd channels":             func(c *wan.FilmConfig) { c.VAE.DecoderBase = 12 },
	} {
		c := smallTI2V()
		change(&c)
		if _, err := newTI2V(wan.OnCPU(), c); !errors.Is(err, wan.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := newTI2V(wan.OnCPU(), smallTI2V())
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{48, 64}, {64, 80}, {0, 64}} {
		if _, err := f.Begin(1, size[0], size[1]); !errors.Is(err, wan.ErrInput) {
			t.Errorf("%v: %v", size, err)
		}
	}
	take, err := f.Begin(2, 64, 32)
	if err != nil {
		t.Fatal(err)
	}
	if err := take.Picture(make([]float32, 3*64*64)); !errors.Is(err, wan.ErrInput) {
		t.Errorf("a picture of another size: %v", err)
	}
}
