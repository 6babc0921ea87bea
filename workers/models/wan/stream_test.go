package wan_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
)

func numbers(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

// TestChunksGiveTheWholeClip decodes and encodes a clip at once and in chunks.
func TestChunksGiveTheWholeClip(t *testing.T) {
	const exact = 2e-6 // float32, and sums in another order
	b, c := kernels.NewCPU(kernels.CPUOptions{}), smallWorld().VAE
	set := weights.Random(11, c.Blueprint())
	t.Run("decoder", func(t *testing.T) {
		const latents, h, w = 9, 4, 8
		d, err := wan.NewDecoder(b, set, c, kernels.F32, latents, h, w)
		if err != nil {
			t.Fatal(err)
		}
		z := numbers(latents*h*w*c.Z, 1)
		run := func(sizes ...int) (frames []float32) {
			s, err := d.NewState()
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; len(sizes) > 0; sizes = sizes[1:] {
				more, err := d.Decode(s, z[at*h*w*c.Z:(at+sizes[0])*h*w*c.Z])
				if err != nil {
					t.Fatal(err)
				}
				at += sizes[0]
				frames = append(frames, more...)
			}
			return frames
		}
		whole := run(9)
		if len(whole) != 33*h*8*w*8*3 {
			t.Fatalf("%d numbers", len(whole))
		}
		for _, sizes := range [][]int{{4, 4, 1}, {1, 1, 3, 4}, {3, 3, 3}} {
			if got := relative(t, run(sizes...), whole); got > exact {
				t.Errorf("chunks of %v differ by %g", sizes, got)
			}
		}
		s, _ := d.NewState()
		for _, n := range []int{0, h*w*c.Z - 1, 10 * h * w * c.Z} {
			if _, err := d.Decode(s, make([]float32, n)); !errors.Is(err, wan.ErrInput) {
				t.Errorf("%d numbers: %v", n, err)
			}
		}
	})
	t.Run("encoder", func(t *testing.T) {
		const latents, h, w = 5, 32, 64
		e, err := wan.NewEncoder(b, set, c, kernels.F32, latents, h, w)
		if err != nil {
			t.Fatal(err)
		}
		clip := numbers(17*h*w*3, 2)
		run := func(sizes ...int) (z []float32) {
			s, err := e.NewState()
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; len(sizes) > 0; sizes = sizes[1:] {
				more, err := e.Encode(s, clip[at*h*w*3:(at+sizes[0])*h*w*3])
				if err != nil {
					t.Fatal(err)
				}
				at += sizes[0]
				z = append(z, more...)
			}
			return z
		}
		whole := run(17)
		if len(whole) != 5*4*8*c.Z {
			t.Fatalf("%d numbers", len(whole))
		}
		for _, sizes := range [][]int{{13, 4}, {1, 16}, {1, 4, 8, 4}} {
			if got := relative(t, run(sizes...), whole); got > exact {
				t.Errorf("chunks of %v differ by %g", sizes, got)
			}
		}
		s, _ := e.NewState()
		if _, err := e.Encode(s, clip[:4*h*w*3]); !errors.Is(err, wan.ErrInput) {
			t.Errorf("four frames at first: %v", err)
		}
	})
}

// TestAVideoGoesOnFromItsWindow stops after some chunks, begins anew with what a window keeps, and makes the next chunk.
func TestAVideoGoesOnFromItsWindow(t *testing.T) {
	w := newWorld(t, kernels.NewCPU(kernels.CPUOptions{}), smallWorld())
	if got := []any{w.Window(1), w.Window(2), w.Window(3), w.Window(6)}; !reflect.DeepEqual(got, []any{[]int64{0}, []int64{0, 1}, []int64{0, 1, 2}, []int64{0, 4, 5}}) {
		t.Errorf("windows %v", got)
	}
	for _, c := range []struct {
		chunks          int64
		latents, frames float64
	}{{1, 0, 0}, {3, 0, 0}, {6, 0.005, 0.3}} {
		f := fly(t, w, stripes(64, 32), 1, 7)
		var all []wan.Kept
		for i := range c.chunks {
			l, s := f.next()
			f.frames(l)
			all = append(all, wan.Kept{Chunk: i, Latents: l, World: s})
		}
		var kept []wan.Kept
		for _, i := range w.Window(c.chunks) {
			kept = append(kept, all[i])
		}
		g := fly(t, w, stripes(64, 32), 1, 7)
		g.chunk = c.chunks
		data, err := f.camera.Store()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.camera.Restore(data); err != nil {
			t.Fatal(err)
		}
		conditions, err := w.ResumeConditions(g.v, kept, c.chunks)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.ResumeKeys(t.Context(), g.v, g.text, kept, conditions, c.chunks); err != nil {
			t.Fatal(err)
		}
		if _, err := w.ResumeFrames(t.Context(), g.v, kept); err != nil {
			t.Fatal(err)
		}
		want, _ := f.next()
		got, _ := g.next()
		l := relative(t, got, want)
		r := relative(t, g.frames(got), f.frames(want))
		t.Logf("after %d chunks: latents differ by %.2g, frames by %.2g", c.chunks, l, r)
		if l > c.latents || r > c.frames {
			t.Errorf("after %d chunks: latents differ by %g, frames by %g", c.chunks, l, r)
		}
	}
}

// TestADenoisingThatEndsChangesNothing cancels a chunk and makes it again.
func TestADenoisingThatEndsChangesNothing(t *testing.T) {
	w := newWorld(t, kernels.NewCPU(kernels.CPUOptions{}), smallWorld())
	f, g := fly(t, w, nil, 0, 3), fly(t, w, nil, 0, 3)
	f.next()
	g.next()
	want, _ := f.next()
	condition, err := w.Condition(g.v)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.camera.Hold(script[1]); err != nil {
		t.Fatal(err)
	}
	s := g.camera.Next(4)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	noise := func(b kernels.Backend, step int, y kernels.Tensor, sigma float32) error {
		if step == 2 {
			cancel(cause)
		}
		return wan.SeededNoise(3, 1)(b, step, y, sigma)
	}
	if _, err := w.Denoise(ctx, g.v, g.text, condition, s, noise); !errors.Is(err, cause) {
		t.Fatalf("a chunk that was cancelled: %v", err)
	}
	got, err := w.Denoise(t.Context(), g.v, g.text, condition, s, wan.SeededNoise(3, 1))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("the chunk is another one at the second try")
	}
}

func TestShapesThatMakeNoModelAreRefused(t *testing.T) {
	for name, change := range map[string]func(c *wan.WorldConfig){
		"size":    func(c *wan.WorldConfig) { c.Width = 40 },
		"heads":   func(c *wan.WorldConfig) { c.DiT.Heads = 2 },
		"control": func(c *wan.WorldConfig) { c.DiT.Control = weights.NoControl },
		"window":  func(c *wan.WorldConfig) { c.DiT.Local = 6 },
		"base":    func(c *wan.WorldConfig) { c.VAE.Base = 12 },
		"sigmas":  func(c *wan.WorldConfig) { c.Sigmas = []float64{1, 2} },
		"start":   func(c *wan.WorldConfig) { c.Sigmas = []float64{0.9, 0.5} },
		"times":   func(c *wan.WorldConfig) { c.Times = []float64{999} },
		"time":    func(c *wan.WorldConfig) { c.Times = []float64{1001, 9, 8, 7} },
		"type":    func(c *wan.WorldConfig) { c.Type = kernels.E4M3 },
	} {
		c := smallWorld()
		change(&c)
		b := kernels.NewCPU(kernels.CPUOptions{})
		_, err := wan.NewWorld(wan.WorldBackends{Encode: b, Denoise: b, Decode: b}, weights.Random(1, smallWorld().VAE.Blueprint()), weights.Random(1, smallWorld().DiT.Blueprint()), c)
		if !errors.Is(err, wan.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
