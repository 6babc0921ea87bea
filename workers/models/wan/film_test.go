package wan_test

import (
	"context"
	"errors"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
)

// TestFilmAgreesWithPyTorch denoises a whole video at once, without camera and picture, led by one text and away from another.
func TestFilmAgreesWithPyTorch(t *testing.T) {
	const golden, frames, h, w = "testdata/golden_film.safetensors", 3, 4, 8
	c := smallWorld().DiT
	c.In, c.Control, c.Local, c.Sink = 16, weights.NoControl, 0, 0
	set := weights.Random(13, c.Blueprint())
	b := kernels.NewCPU(kernels.CPUOptions{})
	m, err := wan.NewDiT(b, set, c, kernels.F32, frames, h, w)
	if err != nil {
		t.Fatal(err)
	}
	table, err := set.Floats("prompts")
	if err != nil {
		t.Fatal(err)
	}
	text := func(row int) *wan.Text {
		n := c.TextLen * c.TextDim
		x, err := m.NewText(table[row*n : (row+1)*n])
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	cache, err := m.NewCache()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Begin(cache, nil, nil); err != nil {
		t.Fatal(err)
	}
	noise := func() []float32 {
		y, err := b.New(kernels.F32, frames*h*w*c.Out)
		if err != nil {
			t.Fatal(err)
		}
		if err := wan.SeededNoise(9, 0)(b, 0, y, 1); err != nil {
			t.Fatal(err)
		}
		return floats(y.Host)
	}
	guide := wan.Guide{Text: text(1), Against: text(0), Scale: 5}
	for name, solver := range map[string]func([]float64) (wan.Solver, error){"euler": wan.NewEuler, "unipc": wan.NewUniPC} {
		s, err := solver(wan.FlowSigmas(5, 6))
		if err != nil {
			t.Fatal(err)
		}
		latents, steps := noise(), 0
		if err := m.Walk(t.Context(), cache, s, guide, latents, func(done int) { steps = done }); err != nil {
			t.Fatal(err)
		}
		got := relative(t, wan.JoinPatches(latents, h, w, c.Out), stored(t, golden, name))
		t.Logf("%s: latents differ by %.2g after %d steps", name, got, steps)
		if got > 1e-4 || steps != 6 {
			t.Errorf("%s: latents differ by %g after %d steps", name, got, steps)
		}
	}
	s, _ := wan.NewEuler(wan.FlowSigmas(5, 6))
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	if err := m.Walk(ctx, cache, s, guide, noise(), func(int) { cancel(cause) }); !errors.Is(err, cause) {
		t.Errorf("a walk that was cancelled: %v", err)
	}
}
