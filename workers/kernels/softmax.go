package kernels

import (
	"fmt"
	"math"

	"telefuser/workers/gpu"
)

// Softmax computes softmax(Factor * x) over rows; X and Y [T, D], both f32 or both bf16.
type Softmax struct {
	X, Y   Tensor
	Factor float32
}

// Check tells whether the tensors fit.
func (o Softmax) Check() error {
	if err := checkRows("softmax", columnsMax*64, o.X, o.Y); err != nil {
		return err
	}
	if o.X.Type != o.Y.Type || o.X.Type != F32 && o.X.Type != BF16 {
		return misfit("softmax", "%v to %v", o.X.Type, o.Y.Type)
	}
	return nil
}

func (o Softmax) reference() {
	row := make([]float64, o.X.Dim(1))
	for t := range o.X.Dim(0) {
		o.X.row(t, row)
		top, sum := math.Inf(-1), 0.0
		for i := range row {
			row[i] *= float64(o.Factor)
			top = max(top, row[i])
		}
		for i := range row {
			row[i] = math.Exp(row[i] - top)
			sum += row[i]
		}
		for i, v := range row {
			o.Y.Set(t*o.Y.Stride[0]+i, v/sum)
		}
	}
}

func (o Softmax) launch(c *CUDA) error {
	d := o.X.Dim(1)
	s, g := rowGrid(o.X.Dim(0), d, shortRow, rowShape{2, 10, 128}, longRow)
	name := fmt.Sprintf("softmax_%v_%v", o.X.Type, s)
	switch {
	case c.flows(d, o.X.Type):
		name, g = "softmax_bf16_flow", flowWide.grid(c, o.X.Dim(0), 0, 0)
	case d > columnsMax: // not in registers
		name, g = fmt.Sprintf("softmax_%v_long", o.X.Type), gpu.Grid{X: o.X.Dim(0), Threads: rowThreads(d, 5)}
	}
	g.Overlap = c.overlaps
	return c.launch("softmax", name, g, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.Y.Dev).I64(int64(o.Y.Stride[0])).I32(o.X.Dim(0)).I32(d).F32(o.Factor)
	})
}
