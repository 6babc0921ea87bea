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
	// Sight is there beside both where the model reads a picture's features.
	Sight *Sight
	Scale float64
}

// passes is how often the network works in a step.
func (g Guide) passes() int {
	if g.Against == nil {
		return 1
	}
	return 2
}

// Walk denoises the chunk that Begin has made ready from noise to its end, in steps of a solver. latents are tokens, as CutPatches makes
// them, and are changed in place. report is called after each step with the number of steps done. When ctx ends between two steps, Walk
// stops with its cause.
func (m *DiT) Walk(ctx context.Context, cache *Cache, s Solver, g Guide, latents []float32, report func(done int)) error {
	times, err := m.NewTimes(s.Times())
	if err != nil {
		return err
	}
	return walk(ctx, s, func(int) (walker, error) { return walker{dit: m, cache: cache, times: times, guide: g}, nil }, nil, latents, report)
}

// walker is one transformer on its way, and what leads it.
type walker struct {
	dit   *DiT
	cache *Cache
	times *Times
	guide Guide
	given given
	// between, where set, is called after each layer of a pass, which its error ends.
	between func() error
}

// between waits for the layer, so that a pass whose context ends does not go on to its end: one of a whole video may take half a minute.
func (m *DiT) between(ctx context.Context, moved func()) func() error {
	flag := make([]byte, m.zero.Span())
	return func() error {
		if err := m.backend.Read(flag, m.zero); err != nil {
			return err
		}
		moved()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
}

// walk asks for the transformer of each step. What is known of the latents stays what it is.
func walk(ctx context.Context, s Solver, of func(step int) (walker, error), known, latents []float32, report func(done int)) error {
	for step := 0; ; step++ {
		copy(latents, known)
		if _, ok := s.Time(); !ok {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w, err := of(step)
		if err != nil {
			return err
		}
		flow, err := w.flow(step, latents)
		if err != nil {
			return err
		}
		s.Next(latents, flow)
		report(step + 1)
	}
}

// flow is what the network predicts at a step, led by one text and away from another.
func (w walker) flow(step int, latents []float32) ([]float32, error) {
	m, g := w.dit, w.guide
	if len(latents) != m.tokens*m.cfg.Out*patch*patch || g.Text == nil {
		return nil, fmt.Errorf("%w: %d numbers of latents", ErrInput, len(latents))
	}
	if err := m.backend.Write(m.work.latents, encode(kernels.F32, latents)); err != nil {
		return nil, fmt.Errorf("wan: walk: %w", err)
	}
	flow, err := w.towards(g.Text, step)
	if err != nil || g.Against == nil {
		return flow, err
	}
	away, err := w.towards(g.Against, step)
	for i, a := range away {
		flow[i] = a + float32(g.Scale)*(flow[i]-a)
	}
	return flow, err
}

// towards is what the network predicts with a text.
func (w walker) towards(text *Text, at int) ([]float32, error) {
	m := w.dit
	s := &step{runner: runner{backend: m.backend}, dit: m, cache: w.cache, text: text, sight: w.guide.Sight, times: w.times, at: at, given: w.given, between: w.between}
	if err := s.predict(m.work.latents, kernels.Tensor{}, kernels.Tensor{}, m.work.flow); err != nil {
		return nil, err
	}
	return read(m.backend, m.work.flow)
}
