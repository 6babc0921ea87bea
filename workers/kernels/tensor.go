package kernels

import (
	"encoding/binary"
	"math"

	"telefuser/workers/gpu"
)

// Tensor names elements in a backend's memory. The last dimension is contiguous; the
// strides of the others, in elements, are free. The zero Tensor stands for "absent".
type Tensor struct {
	Type   DType
	Shape  []int
	Stride []int
	Host   []byte  // memory of the Reference backend, from the first element on
	Dev    gpu.Ptr // memory of a CUDA backend, of the first element
}

// Layout gives a contiguous tensor without memory.
func Layout(t DType, shape ...int) Tensor {
	x := Tensor{Type: t, Shape: shape, Stride: make([]int, len(shape))}
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		x.Stride[i] = n
		n *= shape[i]
	}
	return x
}

// At gives a contiguous tensor in a GPU's memory that the caller owns.
func At(p gpu.Ptr, t DType, shape ...int) Tensor {
	x := Layout(t, shape...)
	x.Dev = p
	return x
}

// Absent says whether no tensor was given.
func (t Tensor) Absent() bool { return t.Shape == nil }

// Len is the number of elements.
func (t Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Span is the number of bytes from the first element to the end of the last.
func (t Tensor) Span() int {
	n := 1
	for i, d := range t.Shape {
		if d == 0 {
			return 0
		}
		n += (d - 1) * t.Stride[i]
	}
	return n * t.Type.Bytes()
}

// Rank is the number of dimensions.
func (t Tensor) Rank() int { return len(t.Shape) }

// Dim is the size of dimension i; negative i count from the last.
func (t Tensor) Dim(i int) int {
	if i < 0 {
		i += len(t.Shape)
	}
	return t.Shape[i]
}

// contiguous says whether the elements from dimension from on lie without gaps.
func (t Tensor) contiguous(from int) bool {
	n := 1
	for i := len(t.Shape) - 1; i >= from; i-- {
		if t.Shape[i] > 1 && t.Stride[i] != n {
			return false
		}
		n *= t.Shape[i]
	}
	return true
}

// Columns is the part of a matrix from column a up to, not including, b.
func (t Tensor) Columns(a, b int) Tensor {
	last := len(t.Shape) - 1
	s := append([]int{}, t.Shape...)
	s[last] = b - a
	return t.offset(a).reshape(s, t.Stride)
}

// Rows is the part of a tensor from index a up to, not including, b of its first dimension.
func (t Tensor) Rows(a, b int) Tensor {
	s := append([]int{}, t.Shape...)
	s[0] = b - a
	return t.offset(a*t.Stride[0]).reshape(s, t.Stride)
}

// Reshape gives a contiguous tensor another shape of as many elements.
func (t Tensor) Reshape(shape ...int) Tensor {
	l := Layout(t.Type, shape...)
	return t.reshape(l.Shape, l.Stride)
}

func (t Tensor) reshape(shape, stride []int) Tensor {
	t.Shape, t.Stride = shape, stride
	return t
}

func (t Tensor) offset(elements int) Tensor {
	bytes := elements * t.Type.Bytes()
	if t.Host != nil {
		t.Host = t.Host[bytes:]
	}
	if t.Dev != 0 {
		t.Dev += gpu.Ptr(bytes)
	}
	return t
}

// Get reads the element at an offset from the first, of the Reference backend's memory.
func (t Tensor) Get(i int) float64 {
	switch t.Type {
	case F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Host[4*i:])))
	case BF16:
		return BF16ToFloat(binary.LittleEndian.Uint16(t.Host[2*i:]))
	case E4M3:
		return E4M3ToFloat(t.Host[i])
	case I32:
		return float64(int32(binary.LittleEndian.Uint32(t.Host[4*i:])))
	default:
		return float64(t.Host[i])
	}
}

// Set rounds and writes the element at an offset from the first.
func (t Tensor) Set(i int, v float64) {
	switch t.Type {
	case F32:
		binary.LittleEndian.PutUint32(t.Host[4*i:], math.Float32bits(float32(v)))
	case BF16:
		binary.LittleEndian.PutUint16(t.Host[2*i:], BF16FromFloat(v))
	case E4M3:
		t.Host[i] = E4M3FromFloat(v)
	case I32:
		binary.LittleEndian.PutUint32(t.Host[4*i:], uint32(int32(v)))
	default:
		t.Host[i] = uint8(v)
	}
}

// values reads the whole span, gaps included.
func (t Tensor) values() []float64 {
	v := make([]float64, t.Span()/t.Type.Bytes())
	for i := range v {
		v[i] = t.Get(i)
	}
	return v
}

// integer reads an I32 element.
func (t Tensor) integer(i int) int { return int(int32(binary.LittleEndian.Uint32(t.Host[4*i:]))) }

// row reads len(dst) elements of row r of a matrix.
func (t Tensor) row(r int, dst []float64) {
	base := r * t.Stride[0]
	for i := range dst {
		dst[i] = t.Get(base + i)
	}
}
