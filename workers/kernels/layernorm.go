package kernels

import (
	"fmt"
	"math"

	"telefuser/workers/gpu"
)

// Kernels with a row in registers have at most walkThreads threads with two or six vectors of
// eight elements each; columnsMax is the longest row that they take.
const (
	walkThreads = 320
	columnsMax  = 6 * 8 * walkThreads
)

// walk shapes a launch of a kernel whose blocks stay and walk over rows: vectors of eight
// elements a thread, and as many blocks as fit on the GPU at once, resident being how many of
// walkThreads fit on a multiprocessor.
func (c *CUDA) walk(rows, columns, resident int) (vectors int, g gpu.Grid) {
	const narrow = 2 * 8 * walkThreads
	vectors = 2
	if columns > narrow {
		vectors = 6
	}
	threads := rowThreads(columns, vectors)
	blocks := c.ctx.Multiprocessors() * (resident * walkThreads / threads)
	return vectors, gpu.Grid{X: min(rows, blocks), Threads: threads}
}

// LayerNorm computes y = (x - mean) / sqrt(var + eps) * (base + gain) + shift for every row,
// base being 1 with PlusOne and 0 without.
//
//	X [T, D] bf16 or f32    Gain, Shift [D] f32, either may be absent (gain 1, shift 0)
//	Y [T, D] bf16, or e4m3 with Scale [T] f32
//
// D is a multiple of 8, rows start at multiples of 16 bytes.
type LayerNorm struct {
	X, Y, Gain, Shift, Scale Tensor
	PlusOne                  bool
	Eps                      float32
}

// Check tells whether the tensors fit.
func (o LayerNorm) Check() error {
	const op = "layernorm"
	if err := checkRows(op, columnsMax, o.X, o.Y); err != nil {
		return err
	}
	if o.X.Type != BF16 && o.X.Type != F32 || o.Y.Type != BF16 && o.Y.Type != E4M3 {
		return misfit(op, "%v to %v", o.X.Type, o.Y.Type)
	}
	for _, v := range []Tensor{o.Gain, o.Shift} {
		if err := checkVector(op, v, F32, o.X.Dim(1), true); err != nil {
			return err
		}
	}
	return checkVector(op, o.Scale, F32, o.X.Dim(0), o.Y.Type != E4M3)
}

func (o LayerNorm) reference() {
	d := o.X.Dim(1)
	row := make([]float64, d)
	for t := range o.X.Dim(0) {
		o.X.row(t, row)
		var mean, variance float64
		for _, v := range row {
			mean += v
		}
		mean /= float64(d)
		for _, v := range row {
			variance += (v - mean) * (v - mean)
		}
		inv := 1 / math.Sqrt(variance/float64(d)+float64(o.Eps))
		for i, v := range row {
			g, b := 1.0, 0.0
			if !o.Gain.Absent() {
				g = o.Gain.Get(i)
				if o.PlusOne {
					g++
				}
			}
			if !o.Shift.Absent() {
				b = o.Shift.Get(i)
			}
			row[i] = (v-mean)*inv*g + b
		}
		writeRow(o.Y, o.Scale, t, row)
	}
}

func (o LayerNorm) launch(c *CUDA) error {
	one := float32(0)
	if o.PlusOne {
		one = 1
	}
	d := o.X.Dim(1)
	vectors, g := c.walk(o.X.Dim(0), d, 2)
	return c.launch("layernorm", fmt.Sprintf("layernorm_%v_%v_%d", o.X.Type, o.Y.Type, vectors), g, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.Y.Dev).I64(int64(o.Y.Stride[0])).
			Ptr(o.Gain.Dev).Ptr(o.Shift.Dev).F32(one).Ptr(o.Scale.Dev).I32(o.X.Dim(0)).I32(d).F32(o.Eps)
	})
}
