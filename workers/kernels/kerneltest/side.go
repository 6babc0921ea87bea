package kerneltest

import (
	"math"
	"math/rand/v2"
	"testing"

	"telefuser/workers/kernels"
)

// guard is how many poisoned elements lie behind every output.
const guard = 64

// Side builds one operation's tensors on one backend. The same case built with the same
// seed on two backends has the same contents on both.
type Side struct {
	t       *testing.T
	backend kernels.Backend
	rand    *rand.Rand
	poison  byte
	outs    []output
}

// output is a tensor that an operation writes, and all of the memory around it.
type output struct {
	view   kernels.Tensor
	whole  kernels.Tensor
	before []byte // whole memory before the operation
	bound  Bound
}

// Bound is how far from the reference an output may be.
type Bound struct {
	Relative float64 // of the norm of the difference to the norm of the reference
	Largest  float64 // of the largest difference to the largest magnitude
	Exact    bool    // bit for bit
}

// Bounds by an output's type: its rounding and what approximate instructions add.
var (
	RoundBF16 = Bound{Relative: 3e-3, Largest: 1e-2}   //nolint:gochecknoglobals // constant table
	RoundE4M3 = Bound{Relative: 2.5e-2, Largest: 8e-2} //nolint:gochecknoglobals // constant table
	RoundF32  = Bound{Relative: 1e-5, Largest: 4e-5}   //nolint:gochecknoglobals // constant table
	Same      = Bound{Exact: true}                     //nolint:gochecknoglobals // constant table
	FastE4M3  = Bound{Relative: 6e-3, Largest: 1.5e-2} //nolint:gochecknoglobals // e4m3 products: partial sums keep 14 bits
	ProbE4M3  = Bound{Relative: 3.5e-2, Largest: 1e-1} //nolint:gochecknoglobals // probabilities rounded to e4m3
)

func (s *Side) tensor(d kernels.DType, shape ...int) kernels.Tensor {
	s.t.Helper()
	x, err := s.backend.New(d, shape...)
	if err != nil {
		s.t.Fatal(err)
	}
	return x
}

func (s *Side) write(x kernels.Tensor, b []byte) {
	s.t.Helper()
	if err := s.backend.Write(x, b); err != nil {
		s.t.Fatal(err)
	}
}

// Normal makes a contiguous input of normally distributed numbers.
func (s *Side) Normal(d kernels.DType, deviation float64, shape ...int) kernels.Tensor {
	h := kernels.Layout(d, shape...)
	h.Host = make([]byte, h.Span())
	for i := range h.Len() {
		h.Set(i, s.rand.NormFloat64()*deviation)
	}
	x := s.tensor(d, shape...)
	s.write(x, h.Host)
	return x
}

// Far makes a contiguous matrix of normally distributed numbers of deviation 1 around a mean that is far off; every other row
// lies around 0.
func (s *Side) Far(d kernels.DType, mean float64, rows, columns int) kernels.Tensor {
	h := kernels.Layout(d, rows, columns)
	h.Host = make([]byte, h.Span())
	for i := range h.Len() {
		h.Set(i, s.rand.NormFloat64()+mean*float64(i/columns%2))
	}
	x := s.tensor(d, rows, columns)
	s.write(x, h.Host)
	return x
}

// Strided makes a matrix whose rows are stride elements apart; gaps hold NaN.
func (s *Side) Strided(d kernels.DType, deviation float64, rows, columns, stride int) kernels.Tensor {
	h := kernels.Layout(d, rows, stride)
	h.Host = make([]byte, h.Span())
	for i := range h.Len() {
		if i%stride < columns {
			h.Set(i, s.rand.NormFloat64()*deviation)
		} else {
			h.Set(i, math.NaN())
		}
	}
	x := s.tensor(d, rows, stride)
	s.write(x, h.Host)
	return x.Columns(0, columns)
}

// Scales makes positive numbers around 1.
func (s *Side) Scales(n int) kernels.Tensor {
	h := kernels.Layout(kernels.F32, n)
	h.Host = make([]byte, h.Span())
	for i := range n {
		h.Set(i, math.Exp2(s.rand.Float64()*2-1))
	}
	x := s.tensor(kernels.F32, n)
	s.write(x, h.Host)
	return x
}

// Integers makes I32 values.
func (s *Side) Integers(v ...int) kernels.Tensor {
	h := kernels.Layout(kernels.I32, len(v))
	h.Host = make([]byte, h.Span())
	for i, n := range v {
		h.Set(i, float64(n))
	}
	x := s.tensor(kernels.I32, len(v))
	s.write(x, h.Host)
	return x
}

// Bytes makes U8 values.
func (s *Side) Bytes(shape ...int) kernels.Tensor {
	x := s.tensor(kernels.U8, shape...)
	b := make([]byte, x.Span())
	for i := range b {
		b[i] = byte(s.rand.Uint32())
	}
	s.write(x, b)
	return x
}

// Table makes the (cos, sin) table of rotary embeddings with three axes of the given pairs.
func (s *Side) Table(positions int, axes kernels.Axes) kernels.Tensor {
	h := kernels.RoPETable(positions, axes)
	x := s.tensor(kernels.F32, h.Shape...)
	s.write(x, h.Host)
	return x
}

// Out makes a poisoned output whose rows are stride elements apart.
func (s *Side) Out(b Bound, d kernels.DType, stride int, shape ...int) kernels.Tensor {
	n := 1
	for _, k := range shape[:len(shape)-1] {
		n *= k
	}
	whole := s.tensor(d, n*stride+guard)
	before := make([]byte, whole.Span())
	for i := range before {
		before[i] = s.poison
	}
	s.write(whole, before)
	view := whole
	view.Shape = shape
	view.Stride = make([]int, len(shape))
	step := stride
	view.Stride[len(shape)-1] = 1
	for i := len(shape) - 2; i >= 0; i-- {
		view.Stride[i] = step
		step *= shape[i]
	}
	s.outs = append(s.outs, output{view, whole, before, b})
	return view
}

// Dense makes a poisoned contiguous output.
func (s *Side) Dense(b Bound, d kernels.DType, shape ...int) kernels.Tensor {
	return s.Out(b, d, shape[len(shape)-1], shape...)
}

// Update makes an output that the operation also reads: random numbers, poison around them.
func (s *Side) Update(b Bound, d kernels.DType, deviation float64, rows, columns, stride int) kernels.Tensor {
	view := s.Out(b, d, stride, rows, columns)
	o := &s.outs[len(s.outs)-1]
	h := kernels.Layout(d, rows, stride)
	h.Host = o.before
	for i := range rows * stride {
		if i%stride < columns {
			h.Set(i, s.rand.NormFloat64()*deviation)
		}
	}
	s.write(o.whole, o.before)
	return view
}

// Partial says that the operation writes only some elements of the last output: the
// others must keep what they hold, which starts as zero.
func (s *Side) Partial(x kernels.Tensor) kernels.Tensor {
	o := &s.outs[len(s.outs)-1]
	clear(o.before[:x.Span()])
	s.write(o.whole, o.before)
	return x
}
