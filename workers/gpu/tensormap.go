package gpu

import (
	"fmt"
	"unsafe"
)

// MapType is the element type of a tensor map.
type MapType int

// Element types of tensor maps.
const (
	MapU8   MapType = 0 // any 8-bit type, e4m3 included
	MapF32  MapType = 7
	MapBF16 MapType = 9
)

// Swizzle is how rows of a tile are spread over shared memory's banks: a tile's inner
// extent is at most this many bytes.
type Swizzle int

// Swizzles of tensor maps.
const (
	SwizzleNone Swizzle = 0
	Swizzle32   Swizzle = 1
	Swizzle64   Swizzle = 2
	Swizzle128  Swizzle = 3
)

// TensorMap describes tiles of a tensor in device memory to the bulk copy engine. It is
// passed to kernels by value.
type TensorMap struct {
	raw [3 * 64]byte // the 128 bytes of the map start at the first multiple of 64
}

func (m *TensorMap) bytes() *byte {
	off := (64 - int(uintptr(unsafe.Pointer(&m.raw[0]))&63)) & 63
	return &m.raw[off]
}

// MapSpec describes the tensor and its tile, innermost dimension first. Strides are in
// bytes, of all dimensions but the innermost, and multiples of 16. Parts of a tile that
// lie outside the tensor read as zero.
type MapSpec struct {
	Type    MapType
	Addr    Ptr
	Dims    []int
	Strides []int64
	Box     []int
	// Steps are how many elements of each dimension lie between two that a tile takes; nil: 1. Box counts what is taken.
	Steps   []int
	Swizzle Swizzle
}

const (
	mapRankMax = 5
	mapBoxMax  = 256
	mapStepMax = 8
)

// NewTensorMap encodes a map.
func (c *Context) NewTensorMap(s MapSpec) (*TensorMap, error) {
	n := len(s.Dims)
	if n < 1 || n > mapRankMax || len(s.Strides) != n-1 || len(s.Box) != n || s.Addr%16 != 0 {
		return nil, fmt.Errorf("gpu: tensor map of rank %d at %#x: %w", n, uint64(s.Addr), ErrInvalid)
	}
	if s.Steps != nil && len(s.Steps) != n {
		return nil, fmt.Errorf("gpu: tensor map of rank %d with %d steps: %w", n, len(s.Steps), ErrInvalid)
	}
	var dims, strides [mapRankMax]uint64
	var box, step [mapRankMax]uint32
	for i := range n {
		if s.Dims[i] < 1 || s.Box[i] < 1 || s.Box[i] > mapBoxMax {
			return nil, fmt.Errorf("gpu: tensor map: dimension %d is %d, box %d: %w", i, s.Dims[i], s.Box[i], ErrInvalid)
		}
		dims[i], box[i], step[i] = uint64(s.Dims[i]), uint32(s.Box[i]), 1
		if s.Steps != nil {
			if k := s.Steps[i]; k < 1 || k > mapStepMax || k*s.Box[i] > mapBoxMax || i == 0 && k > 1 {
				return nil, fmt.Errorf("gpu: tensor map: dimension %d in steps of %d, box %d: %w", i, k, s.Box[i], ErrInvalid)
			}
			step[i] = uint32(s.Steps[i])
			box[i] *= step[i] // the driver counts what a tile passes over
		}
		if i > 0 {
			if s.Strides[i-1]%16 != 0 {
				return nil, fmt.Errorf("gpu: tensor map: stride %d is no multiple of 16: %w", s.Strides[i-1], ErrInvalid)
			}
			strides[i-1] = uint64(s.Strides[i-1])
		}
	}
	m := &TensorMap{}
	const promote128 = 2
	r := c.drv.p.tensorMap.Call(uintptr(unsafe.Pointer(m.bytes())), uintptr(s.Type), uintptr(n), uintptr(s.Addr),
		uintptr(unsafe.Pointer(&dims[0])), uintptr(unsafe.Pointer(&strides[0])), uintptr(unsafe.Pointer(&box[0])), uintptr(unsafe.Pointer(&step[0])),
		0, uintptr(s.Swizzle), promote128, 0)
	if err := c.check("cuTensorMapEncodeTiled", r); err != nil {
		return nil, err
	}
	return m, nil
}
