package kernels

import (
	"fmt"
	"math"
)

// checkRows wants matrices of one shape, with rows in steps of 8 elements (16 bytes at
// most) and at most columns long.
func checkRows(op string, columns int, ts ...Tensor) error {
	for _, t := range ts {
		if t.Rank() != 2 || !t.contiguous(1) {
			return misfit(op, "want matrices, got rank %d", t.Rank())
		}
		if t.Dim(0) != ts[0].Dim(0) || t.Dim(1) != ts[0].Dim(1) {
			return misfit(op, "%v beside %v", t.Shape, ts[0].Shape)
		}
		if t.Dim(0) < 1 || t.Dim(0) > math.MaxInt32 || t.Dim(1) < 8 || t.Dim(1)%8 != 0 || t.Dim(1) > columns {
			return misfit(op, "%v: rows must have a multiple of 8 elements, at most %d", t.Shape, columns)
		}
		if t.Stride[0]%8 != 0 || t.Stride[0] < t.Dim(1) {
			return misfit(op, "row stride %d", t.Stride[0])
		}
		if err := checkAligned(op, t); err != nil {
			return err
		}
	}
	return nil
}

// wide says whether a type is one of those that models compute in.
func wide(t DType) bool { return t == BF16 || t == F32 }

// narrowOnly refuses f32 where a GPU has kernels for bf16 alone.
func narrowOnly(op string, ts ...Tensor) error {
	for _, t := range ts {
		if t.Type == F32 && !t.Absent() {
			return fmt.Errorf("%w: %s of f32 on a GPU", ErrUnsupported, op)
		}
	}
	return nil
}

// checkAligned wants device memory at a multiple of eight elements, 16 bytes at most.
func checkAligned(op string, t Tensor) error {
	if int(t.Dev)%min(8*t.Type.Bytes(), 16) != 0 {
		return misfit(op, "memory at %#x is not aligned", uint64(t.Dev))
	}
	return nil
}

// checkVector wants n contiguous elements of a type, or nothing where optional.
func checkVector(op string, t Tensor, d DType, n int, optional bool) error {
	if t.Absent() {
		if optional {
			return nil
		}
		return misfit(op, "a vector of %d is missing", n)
	}
	if t.Type != d || t.Len() != n || !t.contiguous(0) {
		return misfit(op, "vector %v of %v, want %d of %v", t.Shape, t.Type, n, d)
	}
	return checkAligned(op, t)
}

// checkBias wants a bias of bf16, or of f32 where the factors are.
func checkBias(op string, t Tensor, factors DType, n int, optional bool) error {
	if t.Type == F32 && factors == F32 {
		return checkVector(op, t, F32, n, optional)
	}
	return checkVector(op, t, BF16, n, optional)
}

// writeRow rounds a row into y; with e4m3 it chooses and keeps the row's scale.
func writeRow(y, scale Tensor, r int, row []float64) {
	q := 1.0
	if y.Type == E4M3 {
		top := 1e-12
		for _, v := range row {
			top = max(top, math.Abs(v))
		}
		q = E4M3Max / top
		scale.Set(r, top/E4M3Max)
	}
	base := r * y.Stride[0]
	for i, v := range row {
		y.Set(base+i, v*q)
	}
}
