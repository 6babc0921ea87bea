package wan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// loader brings weights to a backend. The first error stays, and everything after it does nothing.
type loader struct {
	backend kernels.Backend
	weights *weights.Set
	// act is the type of activations and matrices, f32 or bf16.
	act kernels.DType
	err error
}

// floats reads a tensor to the host.
func (l *loader) floats(name string, shape ...int) []float32 {
	if l.err != nil {
		return make([]float32, product(shape))
	}
	own, _ := l.weights.Shape(name)
	v, err := l.weights.Floats(name)
	if err == nil && !slices.Equal(own, shape) {
		err = fmt.Errorf("%w: %s is %v, want %v", ErrConfig, name, own, shape)
	}
	if err != nil {
		l.err = err
		return make([]float32, product(shape))
	}
	return v
}

// put writes numbers into a new tensor.
func (l *loader) put(t kernels.DType, v []float32, shape ...int) kernels.Tensor {
	if l.err != nil {
		return kernels.Tensor{}
	}
	x, err := newTensor(l.backend, t, v, shape...)
	l.err = err
	return x
}

// vector reads a bias or a gain of n numbers as a type.
func (l *loader) vector(t kernels.DType, name string, n int) kernels.Tensor {
	return l.put(t, l.floats(name, n), n)
}

// linear is a matrix [out, in] with its bias.
type linear struct {
	w, b kernels.Tensor
}

// linear reads name.weight and name.bias of one layer, or of several with one input, which become one.
func (l *loader) linear(out, in int, names ...string) linear {
	var x linear
	if l.err == nil {
		x.w, l.err = l.backend.New(l.act, len(names)*out, in)
	}
	var bias []float32
	for i, name := range names {
		bias = append(bias, l.floats(name+".bias", out)...)
		if l.err == nil {
			l.err = l.weights.Upload(l.backend, x.w.Rows(i*out, (i+1)*out), name+".weight")
		}
	}
	x.b = l.put(l.act, bias, len(bias))
	return x
}

func newTensor(b kernels.Backend, t kernels.DType, v []float32, shape ...int) (kernels.Tensor, error) {
	x, err := b.New(t, shape...)
	if err != nil {
		return kernels.Tensor{}, err
	}
	return x, b.Write(x, encode(t, v))
}

// zeros makes a tensor of zeros.
func zeros(b kernels.Backend, t kernels.DType, shape ...int) (kernels.Tensor, error) {
	x, err := b.New(t, shape...)
	if err != nil {
		return kernels.Tensor{}, err
	}
	return x, kernels.Zero(b, x)
}

// encode rounds numbers to a type's bytes.
func encode(t kernels.DType, v []float32) []byte {
	out := make([]byte, len(v)*t.Bytes())
	inParts(len(v), func(from, to int) {
		for i := from; i < to; i++ {
			if t == kernels.F32 {
				binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v[i]))
			} else {
				binary.LittleEndian.PutUint16(out[2*i:], kernels.BF16FromFloat(float64(v[i])))
			}
		}
	})
	return out
}

// decode reads numbers from a type's bytes.
func decode(t kernels.DType, data []byte) []float32 {
	out := make([]float32, len(data)/t.Bytes())
	inParts(len(out), func(from, to int) {
		for i := from; i < to; i++ {
			if t == kernels.F32 {
				out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
			} else {
				out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16)
			}
		}
	})
	return out
}

// read fetches a contiguous tensor of f32 or bf16.
func read(b kernels.Backend, x kernels.Tensor) ([]float32, error) {
	data := make([]byte, x.Span())
	if err := b.Read(data, x); err != nil {
		return nil, err
	}
	return decode(x.Type, data), nil
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// checkType refuses a type of activations that no network is made for.
func checkType(t kernels.DType) error {
	if t != kernels.F32 && t != kernels.BF16 {
		return fmt.Errorf("%w: activations of %v", ErrConfig, t)
	}
	return nil
}

// runner runs operations one after the other. The first error stays, and everything after it does nothing.
type runner struct {
	backend kernels.Backend
	err     error
}

func (r *runner) run(op kernels.Op) {
	if r.err == nil {
		r.err = r.backend.Run(op)
	}
}

// section runs many operations where each costs least.
func (r *runner) section(operations func()) {
	if r.err != nil {
		return
	}
	err := kernels.Section(r.backend, func() error {
		operations()
		return r.err
	})
	r.err = errorsFirst(r.err, err)
}

// write brings numbers to a tensor.
func (r *runner) write(x kernels.Tensor, v []float32) {
	if r.err == nil {
		r.err = r.backend.Write(x, encode(x.Type, v))
	}
}

// view is Tensor.View with the error kept.
func (r *runner) view(t kernels.Tensor, at int, shape, stride []int) kernels.Tensor {
	v, err := t.View(at, shape, stride)
	r.err = errors.Join(r.err, err)
	return v
}
