package wan

import (
	"fmt"
	"math"

	"telefuser/workers/kernels"
)

// Cache are a session's keys and values of earlier latent frames: the first ones for ever, of the others as many as the window holds.
type Cache struct {
	layers []keysValues
	// frames is how many latent frames came before the present chunk, stored how many of them went into the cache: all, unless the video was
	// resumed. keys is how many tokens the present chunk sees, its own included.
	frames, stored int64
	keys           int
}

// NewCache begins a session. A whole video that is made at once keeps nothing from layer to layer, so its layers share one pair of keys and values.
func (m *DiT) NewCache() (*Cache, error) {
	r := &runner{backend: m.backend}
	c := &Cache{}
	slots := m.window * m.rows * m.columns
	for i := range m.cfg.Layers {
		if i > 0 && m.atOnce() {
			c.layers = append(c.layers, c.layers[0])
			continue
		}
		c.layers = append(c.layers, keysValues{k: r.fresh(m.act, nil, slots, m.cfg.Dim), v: r.fresh(m.act, nil, slots, m.cfg.Dim)})
	}
	if r.err != nil {
		return nil, fmt.Errorf("wan: cache: %w", r.err)
	}
	return c, nil
}

// atOnce says that the window holds nothing but the present chunk.
func (m *DiT) atOnce() bool { return m.window == m.chunk }

// restart makes a cache that of a new session.
func (c *Cache) restart() { c.frames, c.stored, c.keys = 0, 0, 0 }

// Frames is how many latent frames are done.
func (c *Cache) Frames() int64 { return c.frames }

// CacheBytes is the memory of a session's keys and values.
func (m *DiT) CacheBytes() int64 {
	pairs := m.cfg.Layers
	if m.atOnce() {
		pairs = 1
	}
	return int64(2*pairs) * int64(m.window*m.rows*m.columns*m.cfg.Dim*m.act.Bytes())
}

// ring says where the keys of a chunk go that begins when so many frames are stored: the window fills up once, and from then on the oldest frames
// behind the sink are written over.
func (m *DiT) ring(stored int64) (r kernels.Ring, keys int) {
	n, window := m.rows*m.columns, int64(m.window)
	if end := stored + int64(m.chunk); end <= window {
		return kernels.Ring{Slot: int(stored) * n, End: m.window * n}, int(end) * n
	}
	sink := int64(m.sink)
	slot := sink + (stored-sink)%(window-sink)
	return kernels.Ring{Slot: int(slot) * n, First: m.sink * n, End: m.window * n}, m.window * n
}

// Begin makes ready what all steps of a session's next chunk share. condition are the tokens of what is given, [tokens, 4 * condition
// channels], and rays those of the camera, [tokens, rays]; both empty where the model has none. Until the next Begin, steps are this
// chunk's.
func (m *DiT) Begin(cache *Cache, condition, rays []float32) error {
	w := m.work
	if len(condition) != m.tokens*m.condition*patch*patch || len(rays) != m.tokens*m.raysWidth {
		return fmt.Errorf("%w: %d numbers of condition and %d of rays for %d tokens", ErrInput, len(condition), len(rays), m.tokens)
	}
	ring, keys := m.ring(cache.stored)
	cache.keys = keys
	r := &runner{backend: m.backend}
	r.write(w.table, m.rotations(cache.frames))
	r.integers(w.ring, ring.Frame, ring.Slot, ring.First, ring.End)
	if m.condition > 0 {
		r.write(w.given, condition)
		r.run(kernels.Gemm{A: w.given, B: m.patchC, Bias: m.patchBias, D: w.condition})
	}
	if m.raysWidth > 0 {
		r.write(w.rays, rays)
		r.section(func() { m.steer(r) })
	}
	if r.err != nil {
		return fmt.Errorf("wan: begin chunk: %w", r.err)
	}
	return nil
}

// steer computes the scale and the shift that the camera means for every block.
func (m *DiT) steer(r *runner) {
	w := m.work
	r.run(kernels.Gemm{A: w.rays, B: m.rays.w, Bias: m.rays.b, D: w.view})
	r.run(kernels.Gemm{A: w.view, B: m.rays1.w, Bias: m.rays1.b, F: kernels.SiLU, D: w.hidden})
	r.run(kernels.Gemm{A: w.hidden, B: m.rays2.w, Bias: m.rays2.b, Residual: w.view, D: w.view})
	for i := range m.blocks {
		b := m.blocks[i].camera
		r.run(kernels.Gemm{A: w.view, B: b.layer1.w, Bias: b.layer1.b, F: kernels.SiLU, D: w.hidden})
		r.run(kernels.Gemm{A: w.hidden, B: b.layer2.w, Bias: b.layer2.b, Residual: w.view, D: w.a})
		r.run(kernels.Gemm{A: w.a, B: b.scale.w, Bias: b.scale.b, D: w.scale[i]})
		r.run(kernels.Gemm{A: w.a, B: b.shift.w, Bias: b.shift.b, D: w.shift[i]})
	}
}

// rotations is the rotary table of a chunk: row p holds frame frames+p, row p and column p of the grid. So positions have no end.
func (m *DiT) rotations(frames int64) []float32 {
	const theta = 10000
	out := make([]float32, 0, m.work.table.Len())
	for p := range m.work.table.Dim(0) {
		a := axes()
		for axis, n := range []int{a.Frame, a.Row, a.Column} {
			at := float64(p)
			if axis == 0 {
				at += float64(frames)
			}
			for i := range n {
				sin, cos := math.Sincos(at / math.Pow(theta, float64(i)/float64(n)))
				out = append(out, float32(cos), float32(sin))
			}
		}
	}
	return out
}

// integers writes I32 values.
func (r *runner) integers(x kernels.Tensor, v ...int) {
	if r.err != nil {
		return
	}
	h := kernels.Layout(kernels.I32, len(v))
	h.Host = make([]byte, h.Span())
	for i, n := range v {
		h.Set(i, float64(n))
	}
	r.err = r.backend.Write(x, h.Host)
}

// step is one pass of a chunk's tokens through the transformer.
type step struct {
	runner
	dit   *DiT
	cache *Cache
	text  *Text
	sight *Sight // nil where the model reads none
	times *Times
	at    int // which of the times
	given given
	// onlyKeys ends the pass where the last layer's keys and values are written.
	onlyKeys bool
	// between is walker's.
	between func() error
}

// rotate norms queries or keys and turns them by their places.
func (s *step) rotate(x, weight, y kernels.Tensor, ring bool) {
	w := s.dit.work
	s.run(kernels.RMSNormRoPE{X: x, Weight: weight, Table: w.table, State: w.ring, Y: y, InRing: ring,
		GridH: s.dit.rows, GridW: s.dit.columns, Axes: axes(), Eps: layerNormEps, Factor: 1})
}

// Step predicts the flow of the present chunk at one of the times and computes out = base + gate * flow.
//
// It is for models that read no picture's features.
//
//	latents, base, out [tokens, 4 * Z] f32, tokens as CutPatches makes them; base and out may be latents   gate [4 * Z] f32
func (m *DiT) Step(cache *Cache, text *Text, times *Times, at int, latents, gate, base, out kernels.Tensor) error {
	s := &step{runner: runner{backend: m.backend}, dit: m, cache: cache, text: text, times: times, at: at}
	return s.predict(latents, gate, base, out)
}

// predict is Step.
func (s *step) predict(latents, gate, base, out kernels.Tensor) error {
	m, w := s.dit, s.dit.work
	s.section(func() {
		m.through(s, latents)
		s.modulate(func(at int) kernels.Tensor { return s.times.headPart(at, 1) }, func(at int) kernels.Tensor { return s.times.headPart(at, 0) })
		s.run(kernels.Gemm{A: w.a, B: m.head.w, Bias: m.head.b, Gate: gate, Residual: base, D: out})
	})
	if s.err != nil {
		return fmt.Errorf("wan: step: %w", s.err)
	}
	return nil
}

// Keep writes the keys and values of the present chunk's finished latents, at the time of no noise, and moves the session on to the next
// chunk.
func (m *DiT) Keep(cache *Cache, text *Text, times *Times, at int, latents kernels.Tensor) error {
	s := &step{runner: runner{backend: m.backend}, dit: m, cache: cache, text: text, times: times, at: at, onlyKeys: true}
	s.section(func() { m.through(s, latents) })
	if s.err != nil {
		return fmt.Errorf("wan: keep: %w", s.err)
	}
	cache.frames += int64(m.chunk)
	cache.stored += int64(m.chunk)
	return nil
}

// through embeds the latents and runs the blocks.
func (m *DiT) through(s *step, latents kernels.Tensor) {
	if reads := m.cfg.Image > 0; s.err == nil && reads != (s.sight != nil) {
		s.err = fmt.Errorf("%w: the model reads a picture's features: %t", ErrInput, reads)
		return
	}
	m.embed(s, latents)
	for i := range m.blocks {
		m.blocks[i].run(s, i)
		if s.between != nil && s.err == nil {
			s.err = s.between()
		}
	}
}

// embed makes tokens of the latents.
func (m *DiT) embed(s *step, latents kernels.Tensor) {
	w := m.work
	in := latents
	if m.act != latents.Type {
		in = w.queue
		s.run(kernels.Copy{X: latents, Y: in})
	}
	if m.condition > 0 {
		s.run(kernels.Gemm{A: in, B: m.patchZ, Residual: w.condition, D: w.x})
	} else {
		s.run(kernels.Gemm{A: in, B: m.patchZ, Bias: m.patchBias, D: w.x})
	}
}
