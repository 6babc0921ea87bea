package weights

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"telefuser/workers/kernels"
)

// Set gives the tensors of a blueprint, and nothing else. Its methods may be called at once.
type Set struct {
	blueprint Blueprint
	byName    map[string]Parameter
	stored    map[string]stored // nil for a set from a seed
	layout    Layout
	from      *Checkpoint
	seed      uint64
}

// Layout is how a checkpoint names its tensors.
type Layout string

// The layouts. A set from a seed has the original names.
const (
	Original  Layout = "original"
	Diffusers Layout = "diffusers"
)

// Load opens the checkpoint at a path and fits it to a blueprint. Closing the set closes it.
func Load(path string, b Blueprint) (*Set, error) {
	c, err := Open(path)
	if err != nil {
		return nil, err
	}
	s, err := c.Fit(b)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, nil
}

// Fit holds a checkpoint to a blueprint; every difference is in the *MismatchError. The set
// owns the checkpoint from then on.
func (c *Checkpoint) Fit(b Blueprint) (*Set, error) {
	s, report := c.compare(b)
	if !report.OK() {
		return nil, &MismatchError{Path: c.path, Model: b.Model, Report: report}
	}
	return s, nil
}

// compare fits what fits and reports the rest.
func (c *Checkpoint) compare(b Blueprint) (*Set, Report) {
	s := &Set{blueprint: b, byName: byName(b), stored: map[string]stored{}, layout: Original, from: c}
	var r Report
	for _, name := range slices.Sorted(maps.Keys(c.entries)) {
		own, e := name, c.entries[name]
		if _, wanted := s.byName[name]; !wanted && b.Rename != nil {
			own = b.Rename(name)
		}
		p, wanted := s.byName[own]
		_, twice := s.stored[own]
		switch {
		case twice && slices.Contains(b.Spare, name), !wanted && b.other(name):
			continue
		case !wanted || twice:
			r.Surplus = append(r.Surplus, name)
			continue
		case !slices.Equal(e.Shape, p.Shape):
			r.Misshapen = append(r.Misshapen, Misshapen{Name: name, Want: p.Shape, Got: e.Shape})
		case !e.Type.readable():
			r.Mistyped = append(r.Mistyped, Mistyped{Name: name, Type: e.Type})
		}
		if own != name {
			s.layout = Diffusers
		}
		s.stored[own] = e
	}
	for _, p := range b.Parameters {
		if _, ok := s.stored[p.Name]; !ok {
			r.Missing = append(r.Missing, p.Name)
		}
	}
	return s, r
}

// other says that a tensor is of a network that the model does not read.
func (b Blueprint) other(name string) bool {
	return slices.ContainsFunc(b.Others, func(o string) bool { return strings.HasPrefix(name, o) })
}

func byName(b Blueprint) map[string]Parameter {
	m := make(map[string]Parameter, len(b.Parameters))
	for _, p := range b.Parameters {
		m[p.Name] = p
	}
	return m
}

// Origin is where the values come from, for facts and reports: a path, or random:SEED.
func (s *Set) Origin() string {
	if s.Random() {
		return fmt.Sprintf("%s%d", randomPrefix, s.seed)
	}
	return s.from.path
}

// Random says that the values come from a seed and mean nothing.
func (s *Set) Random() bool { return s.stored == nil }

// Layout is how the files name the tensors.
func (s *Set) Layout() Layout { return s.layout }

// Parameters are the tensors in the order of the blueprint.
func (s *Set) Parameters() []Parameter { return s.blueprint.Parameters }

// Shape is that of a tensor; false if the set has none of the name.
func (s *Set) Shape(name string) ([]int, bool) {
	p, ok := s.byName[name]
	return p.Shape, ok
}

// Close gives the files back. What Bytes gave must not be used any more.
func (s *Set) Close() error {
	if s.from == nil {
		return nil
	}
	return s.from.Close()
}

// Bytes writes elements of a tensor, from the given one on, as F32 or BF16 until dst is full.
func (s *Set) Bytes(dst []byte, d kernels.DType, name string, from int) error {
	p, ok := s.byName[name]
	switch {
	case !ok:
		return fmt.Errorf("%w: the %s has no %s", ErrUnknown, s.blueprint.Model, name)
	case d != kernels.F32 && d != kernels.BF16:
		return fmt.Errorf("%w: %s as %v", ErrUnknown, name, d)
	}
	n, all := len(dst)/d.Bytes(), Entry{Shape: p.Shape}.Len()
	if from < 0 || len(dst)%d.Bytes() != 0 || n > all-from {
		return fmt.Errorf("%w: %s has %d elements, not %d from %d on", ErrUnknown, name, all, n, from)
	}
	e := s.stored[name]
	out, in := d.Bytes(), e.Type.Bytes()
	return spread(n, func(a, b int) error {
		part := dst[a*out : b*out]
		if s.Random() {
			return s.draw(part, d, p, from+a)
		}
		convert(part, d, e.file.Data(e.Entry)[(from+a)*in:(from+b)*in], e.Type)
		return nil
	})
}

// Floats is a whole tensor as float32, in the order of its shape.
func (s *Set) Floats(name string) ([]float32, error) {
	const step = 1 << 16
	shape, ok := s.Shape(name)
	if !ok {
		return nil, fmt.Errorf("%w: the %s has no %s", ErrUnknown, s.blueprint.Model, name)
	}
	all := make([]float32, Entry{Shape: shape}.Len())
	buffer := make([]byte, 4*min(step, len(all)))
	for at := 0; at < len(all); at += step {
		part := buffer[:4*min(step, len(all)-at)]
		if err := s.Bytes(part, kernels.F32, name, at); err != nil {
			return nil, err
		}
		for i := range len(part) / 4 {
			all[at+i] = element(part[4*i:], F32)
		}
	}
	return all, nil
}
