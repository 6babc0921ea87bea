package wan

import (
	"context"
	"fmt"

	"telefuser/workers/kernels"
)

// Guide is how a prompt leads a whole video that is denoised at once.
type Guide struct {
	// Text leads; Against, where it is not nil, leads away, by Scale: flow = away + Scale * (towards - away).
	Text, Against *Text
	Scale         float64
}

// Walk denoises the chunk that Begin has made ready from noise to its end, in steps of a solver. latents are tokens, as CutPatches makes
// them, and are changed in place. report is called after each step with the number of steps done. When ctx ends between two steps, Walk
// stops with its cause.
func (m *DiT) Walk(ctx context.Context, cache *Cache, s Solver, g Guide, latents []float32, report func(done int)) error {
	width := m.cfg.Out * patch * patch
	if len(latents) != m.tokens*width || g.Text == nil {
		return fmt.Errorf("%w: %d numbers of latents", ErrInput, len(latents))
	}
	r := &runner{backend: m.backend}
	x, out := r.fresh(kernels.F32, nil, m.tokens, width), r.fresh(kernels.F32, nil, m.tokens, width)
	if r.err != nil {
		return fmt.Errorf("wan: walk: %w", r.err)
	}
	for done := 1; ; done++ {
		at, ok := s.Time()
		if !ok {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		times, err := m.NewTimes([]float64{at})
		if err != nil {
			return err
		}
		if err := m.backend.Write(x, encode(kernels.F32, latents)); err != nil {
			return fmt.Errorf("wan: walk: %w", err)
		}
		flow, err := m.flow(cache, g.Text, times, x, out)
		if err != nil {
			return err
		}
		if g.Against != nil {
			away, err := m.flow(cache, g.Against, times, x, out)
			if err != nil {
				return err
			}
			for i, a := range away {
				flow[i] = a + float32(g.Scale)*(flow[i]-a)
			}
		}
		s.Next(latents, flow)
		report(done)
	}
}

// flow is what the network predicts with a text.
func (m *DiT) flow(cache *Cache, text *Text, times *Times, x, out kernels.Tensor) ([]float32, error) {
	if err := m.Step(cache, text, times, 0, x, kernels.Tensor{}, kernels.Tensor{}, out); err != nil {
		return nil, err
	}
	return read(m.backend, out)
}
