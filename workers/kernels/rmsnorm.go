package kernels

import (
	"fmt"
	"math"

	"telefuser/workers/gpu"
)

// RMSNorm computes y = f(x / sqrt(mean(x^2) + eps) * gain) for every row.
//
//	X, Y [T, D] bf16 or f32, each; Y may be X   Gain [D] f32, absent: 1
//
// D is a multiple of 8, rows start at multiples of 16 bytes.
type RMSNorm struct {
	X, Y, Gain Tensor
	F          Function
	Eps        float32
}

// Check tells whether the tensors fit.
func (o RMSNorm) Check() error {
	const op = "rmsnorm"
	if err := checkRows(op, columnsMax, o.X, o.Y); err != nil {
		return err
	}
	if !wide(o.X.Type) || !wide(o.Y.Type) || o.F == ExactGELU {
		return misfit(op, "%v to %v by function %d", o.X.Type, o.Y.Type, o.F)
	}
	return checkVector(op, o.Gain, F32, o.X.Dim(1), true)
}

func (o RMSNorm) reference() {
	d := o.X.Dim(1)
	row := make([]float64, d)
	for t := range o.X.Dim(0) {
		o.X.row(t, row)
		var sq float64
		for _, v := range row {
			sq += v * v
		}
		inv := 1 / math.Sqrt(sq/float64(d)+float64(o.Eps))
		for i, v := range row {
			v *= inv
			if !o.Gain.Absent() {
				v *= o.Gain.Get(i)
			}
			row[i] = o.F.Apply(v)
		}
		writeRow(o.Y, Tensor{}, t, row)
	}
}

func (o RMSNorm) launch(c *CUDA) error {
	t, d := o.X.Dim(0), o.X.Dim(1)
	const threads = 256
	fill := func(a *gpu.Args) *gpu.Args {
		return a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.Y.Dev).I64(int64(o.Y.Stride[0])).Ptr(o.Gain.Dev)
	}
	name := fmt.Sprintf("rmsnorm_%v_%v_", o.X.Type, o.Y.Type)
	lanes, vectors := normLanes(d / 8)
	if lanes == 0 {
		return c.launch("rmsnorm", name+"long", gpu.Grid{X: t, Threads: rowThreads(d, 1)}, func(a *gpu.Args) {
			fill(a).I32(d).I32(int(o.F)).F32(o.Eps)
		})
	}
	g := gpu.Grid{X: (t*lanes + threads - 1) / threads, Threads: threads}
	return c.launch("rmsnorm", fmt.Sprint(name, vectors), g, func(a *gpu.Args) {
		fill(a).I32(t).I32(d).I32(lanes).I32(int(o.F)).F32(o.Eps)
	})
}

// normLanes is how many lanes of a warp share a row of so many vectors of eight, and how many vectors each holds, 1 or 3: what wastes
// fewest. 0 lanes: the row is too long.
func normLanes(row int) (lanes, vectors int) {
	const warp, most = 32, 3
	if row > warp*most {
		return 0, 0
	}
	wide, narrow := 1, 1
	for wide < row {
		wide *= 2
	}
	for narrow*most < row {
		narrow *= 2
	}
	if wide <= narrow*most && wide <= warp {
		return wide, 1
	}
	return narrow, most
}
