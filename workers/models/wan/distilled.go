package wan

import (
	"context"
	"fmt"
	"math"
	"slices"

	"telefuser/workers/kernels"
)

// Sigmas are the noise levels of a sampler with few steps: S u / (1 + (S - 1) u) for u = 1, 1 - 1/n ... 1/n.
func Sigmas(shift float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		u := 1 - float64(i)/float64(n)
		out[i] = shift * u / (1 + (shift-1)*u)
	}
	return out
}

// timesPerSigma is what a network calls a noise level of 1.
const timesPerSigma = 1000

// TrainedSigmas are levels of the schedule of 1000 that Wan and LingBot-World are trained on, and what their networks call them: whole
// numbers. LingBot-World v2 takes steps 0, 250, 500 and 750 with a shift of 10. Steps are from 0 to 999 and rise, or it fails with ErrConfig.
func TrainedSigmas(shift float64, steps ...int) (sigmas, times []float64, err error) {
	all := FlowSigmas(shift, timesPerSigma)
	for i, s := range steps {
		if s < 0 || s >= timesPerSigma || i > 0 && s <= steps[i-1] {
			return nil, nil, fmt.Errorf("%w: steps %v of a schedule", ErrConfig, steps)
		}
		sigmas, times = append(sigmas, all[s]), append(times, math.Trunc(all[s]*timesPerSigma))
	}
	return sigmas, times, nil
}

// Noise fills y with normally distributed numbers times sigma, for a step of a chunk: step 0 is what the chunk begins with.
type Noise func(b kernels.Backend, step int, y kernels.Tensor, sigma float32) error

// renoise is mixed into the seed of the noise between steps, as LingBot does it.
const renoise = 0x51A7E5EED

// SeededNoise is a chunk's noise by a seed: the same bits on every backend, whatever was made before.
func SeededNoise(seed, chunk int64) Noise {
	return func(b kernels.Backend, step int, y kernels.Tensor, sigma float32) error {
		s := uint64(seed)
		if step > 0 {
			s ^= renoise
		}
		return b.Run(kernels.Noise{Y: y, Seed: s, Stream: uint64(step), First: uint64(chunk) * uint64(y.Len()), Sigma: sigma})
	}
}

// Distilled is the sampler of few steps: each predicts the clean latents, which get fresh noise of the next level; at the end the clean
// latents go through once more for their keys and values.
type Distilled struct {
	dit    *DiT
	sigmas []float64
	times  *Times
	// down are the factors of the flow at each step, keep those of the clean latents before the next, [4 * Z] f32.
	down, keep []kernels.Tensor
	latents    kernels.Tensor // tokens, f32
	fresh      kernels.Tensor
}

// NewDistilled makes a sampler for falling noise levels from 1 or just below it, and for what the network calls them; without times,
// that is 1000 times the level.
func NewDistilled(m *DiT, sigmas, times []float64) (*Distilled, error) {
	called, err := calledTimes(sigmas, times)
	if err != nil {
		return nil, err
	}
	d := &Distilled{dit: m, sigmas: sigmas}
	if d.times, err = m.NewTimes(append(called, 0)); err != nil {
		return nil, err
	}
	width := m.cfg.Out * patch * patch
	r := &runner{backend: m.backend}
	for i, s := range sigmas {
		d.down = append(d.down, r.constant(-s, width))
		if i+1 < len(sigmas) {
			d.keep = append(d.keep, r.constant(1-sigmas[i+1], width))
		}
	}
	d.latents, d.fresh = r.fresh(kernels.F32, nil, m.tokens, width), r.fresh(kernels.F32, nil, m.tokens, width)
	if r.err != nil {
		return nil, fmt.Errorf("wan: sampler: %w", r.err)
	}
	return d, nil
}

// calledTimes checks the noise levels of a sampler of few steps, and says what the network calls them.
func calledTimes(sigmas, times []float64) ([]float64, error) {
	const first = 0.99 // what is below is no noise to begin with
	if len(sigmas) == 0 || !(sigmas[0] >= first && sigmas[0] <= 1) || times != nil && len(times) != len(sigmas) {
		return nil, fmt.Errorf("%w: noise levels %v at times %v", ErrConfig, sigmas, times)
	}
	called := slices.Clone(times)
	for i, s := range sigmas {
		if times == nil {
			called = append(called, s*timesPerSigma)
		}
		if !(s > 0) || i > 0 && s >= sigmas[i-1] || !(called[i] >= 0 && called[i] <= timesPerSigma) {
			return nil, fmt.Errorf("%w: noise levels %v at times %v", ErrConfig, sigmas, times)
		}
	}
	return called, nil
}

// constant is a vector of one number.
func (r *runner) constant(v float64, n int) kernels.Tensor {
	all := make([]float32, n)
	for i := range all {
		all[i] = float32(v)
	}
	return r.fresh(kernels.F32, all, n)
}

// Run makes the chunk that Begin has made ready, and moves the cache on. It answers its clean latents as tokens. When ctx ends between
// two steps, it stops with its cause, and the cache stands where it stood.
func (d *Distilled) Run(ctx context.Context, cache *Cache, text *Text, noise Noise) ([]float32, error) {
	m := d.dit
	if err := noise(m.backend, 0, d.latents, 1); err != nil {
		return nil, fmt.Errorf("wan: noise: %w", err)
	}
	for i := range d.sigmas {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := m.Step(cache, text, d.times, i, d.latents, d.down[i], d.latents, d.latents); err != nil {
			return nil, err
		}
		if i+1 == len(d.sigmas) {
			break
		}
		err := noise(m.backend, i+1, d.fresh, float32(d.sigmas[i+1]))
		if err == nil {
			err = m.backend.Run(kernels.GateResidual{X: d.fresh, Y: d.latents, Gate: d.keep[i]})
		}
		if err != nil {
			return nil, fmt.Errorf("wan: noise: %w", err)
		}
		d.latents, d.fresh = d.fresh, d.latents
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := m.Keep(cache, text, d.times, len(d.sigmas), d.latents); err != nil {
		return nil, err
	}
	out, err := read(m.backend, d.latents)
	if err != nil {
		return nil, fmt.Errorf("wan: latents: %w", err)
	}
	return out, nil
}

// Keep moves the cache on over a chunk that is known: only its clean pass runs. Begin has made it ready.
func (d *Distilled) Keep(cache *Cache, text *Text, tokens []float32) error {
	m := d.dit
	if len(tokens) != d.latents.Len() {
		return fmt.Errorf("%w: %d numbers of latents", ErrInput, len(tokens))
	}
	if err := m.backend.Write(d.latents, encode(kernels.F32, tokens)); err != nil {
		return fmt.Errorf("wan: latents: %w", err)
	}
	return m.Keep(cache, text, d.times, len(d.sigmas), d.latents)
}
