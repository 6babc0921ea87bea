package weights

import (
	"fmt"

	"telefuser/workers/kernels"
)

// Writer is where a tensor's bytes go: a kernels.Backend, or what copies them for one, as a
// kernels.Uploader does. It must not keep src.
type Writer interface {
	Write(dst kernels.Tensor, src []byte) error
}

// chunkBytes is how much of a tensor is converted and written at once.
const chunkBytes = 8 << 20

// Tensor takes memory of a backend and fills it with a tensor of the set, as F32 or BF16, in
// the set's shape or in another of as many elements.
func (s *Set) Tensor(b kernels.Backend, d kernels.DType, name string, shape ...int) (kernels.Tensor, error) {
	own, ok := s.Shape(name)
	if !ok {
		return kernels.Tensor{}, fmt.Errorf("%w: the %s has no %s", ErrUnknown, s.blueprint.Model, name)
	}
	if shape == nil {
		shape = own
	}
	if (Entry{Shape: shape}).Len() != (Entry{Shape: own}).Len() {
		return kernels.Tensor{}, fmt.Errorf("%w: %s is %v, not %v", ErrUnknown, name, own, shape)
	}
	x, err := b.New(d, shape...)
	if err != nil {
		return kernels.Tensor{}, fmt.Errorf("weights: %s: %w", name, err)
	}
	return x, s.Upload(b, x, name)
}

// maker is a backend that makes values where they are used.
type maker interface{ Run(op kernels.Op) error }

// Upload fills a contiguous tensor, F32 or BF16, in pieces. What needs no conversion is
// written from the mapped file itself; values from a seed are made on the GPU that uses them.
func (s *Set) Upload(w Writer, dst kernels.Tensor, name string) error {
	n := dst.Len()
	if own, ok := s.Shape(name); !ok || (Entry{Shape: own}).Len() != n {
		return fmt.Errorf("%w: the %s has no %s of %d elements", ErrUnknown, s.blueprint.Model, name, n)
	}
	if m, ok := w.(maker); ok && s.Random() && s.byName[name].Centre == 0 && dst.Type == kernels.BF16 && dst.Dev != 0 {
		if err := m.Run(s.noise(dst, s.byName[name], 0)); err != nil {
			return fmt.Errorf("weights: %s: %w", name, err)
		}
		return nil
	}
	size := dst.Type.Bytes()
	flat, step := dst.Reshape(n), chunkBytes/size
	e, file := s.stored[name]
	direct := file && e.Type.same(dst.Type)
	var buffer []byte
	if !direct {
		buffer = make([]byte, size*min(step, n))
	}
	for at := 0; at < n; at += step {
		m := min(step, n-at)
		var part []byte
		if direct {
			part = e.file.Data(e.Entry)[at*size : (at+m)*size]
		} else {
			part = buffer[:m*size]
			if err := s.Bytes(part, dst.Type, name, at); err != nil {
				return err
			}
		}
		if err := w.Write(flat.Rows(at, at+m), part); err != nil {
			return fmt.Errorf("weights: %s: %w", name, err)
		}
	}
	return nil
}
