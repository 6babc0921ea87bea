package wan

import (
	"fmt"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// half is the encoder or the decoder, laid out for one size and chunk.
type half struct {
	backend kernels.Backend
	act     kernels.DType
	layers  []layer
	work    *vaeWork
	// caches have the shapes of what a session remembers.
	caches []kernels.Tensor
	// planes are the pictures of a chunk as I420, where the layers make pictures.
	pictures bool
	planes   kernels.Tensor
}

// VAEState is what a session remembers of one half. The zero frames before a video are in it from the start.
type VAEState struct {
	caches []kernels.Tensor
	// chunks is how many have passed.
	chunks int64
}

// lay plans the work for chunks whose first has `first` frames and whose later ones have `later`, of h x w x c, and takes the memory.
func (m *half) lay(first, later, h, w, c int) error {
	var made kernels.Tensor
	m.work, m.caches = &vaeWork{}, nil
	for i, frames := range []int{first, later} {
		p := m.pass(&VAEState{caches: m.caches, chunks: int64(i)})
		p.plan, p.caches = true, &m.caches
		p.x = p.take(p.current, frames, h, w, c)
		if err := m.through(p); err != nil {
			return err
		}
		made = p.x
	}
	for _, b := range []*buffer{&m.work.current, &m.work.spare, &m.work.around, &m.work.hidden, &m.work.padded, &m.work.values, &m.work.scores} {
		if b.most == 0 {
			continue
		}
		var err error
		if b.mem, err = m.backend.New(m.act, b.most); err != nil {
			return fmt.Errorf("wan: work space: %w", err)
		}
	}
	if err := m.work.hide(m.backend, m.act); err != nil {
		return err
	}
	if m.pictures {
		var err error
		if m.planes, err = m.backend.New(kernels.U8, made.Dim(0), made.Dim(1)*made.Dim(2)*3/2); err != nil {
			return fmt.Errorf("wan: work space: %w", err)
		}
	}
	return nil
}

// pass begins a run for a session.
func (m *half) pass(s *VAEState) *vaePass {
	w := m.work
	return &vaePass{
		runner: runner{backend: m.backend}, act: m.act, first: s.chunks == 0, caches: &s.caches,
		work: w, current: &w.current, spare: &w.spare, around: &w.around, hidden: &w.hidden, padded: &w.padded, values: &w.values, scores: &w.scores,
	}
}

// through runs the layers.
func (m *half) through(p *vaePass) error {
	p.section(func() {
		for _, l := range m.layers {
			if p.err == nil {
				l.run(p)
			}
		}
	})
	if p.err != nil {
		return fmt.Errorf("wan: VAE: %w", p.err)
	}
	return nil
}

// NewState begins a session: all frames before it are zero.
func (m *half) NewState() (*VAEState, error) {
	s := &VAEState{caches: make([]kernels.Tensor, len(m.caches))}
	for i, c := range m.caches {
		var err error
		if s.caches[i], err = zeros(m.backend, m.act, c.Shape...); err != nil {
			return nil, fmt.Errorf("wan: VAE state: %w", err)
		}
	}
	return s, nil
}

// restart makes a state that of a new session.
func (m *half) restart(s *VAEState) error {
	s.chunks = 0
	for _, c := range s.caches {
		if err := kernels.Zero(m.backend, c); err != nil {
			return fmt.Errorf("wan: VAE state: %w", err)
		}
	}
	return nil
}

// StateBytes is the memory of a session's state.
func (m *half) StateBytes() int64 {
	var n int64
	for _, c := range m.caches {
		n += int64(c.Span())
	}
	return n
}

// normal are the mean and the deviation of the latent channels.
func (l *loader) normal(c weights.VAEConfig) (mean, std []float32) {
	for i := range c.Mean {
		mean, std = append(mean, float32(c.Mean[i])), append(std, float32(c.Std[i]))
	}
	if len(mean) > 0 {
		return mean, std
	}
	return l.floats("mean", c.Z), l.floats("std", c.Z)
}

// channels reads the first n channels of the frames.
func (p *vaePass) channels(n int) ([]float32, error) {
	wide, err := read(p.backend, p.x)
	if err != nil {
		return nil, fmt.Errorf("wan: VAE: %w", err)
	}
	all := p.x.Dim(3)
	if n == all {
		return wide, nil
	}
	out := make([]float32, len(wide)/all*n)
	for i := range len(wide) / all {
		copy(out[n*i:n*(i+1)], wide[all*i:])
	}
	return out, nil
}
