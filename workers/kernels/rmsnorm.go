package kernels

import (
	"fmt"
	"math"
)

// RMSNorm computes y = f(x / sqrt(mean(x^2) + eps) * gain) for every row.
//
//	X, Y [T, D] bf16 or f32, each; Y may be X   Gain [D] f32, absent: 1
//
// D is a multiple of 8, rows start at multiples of 16 bytes. CUDA has no kernel for it yet.
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
	if !wide(o.X.Type) || !wide(o.Y.Type) {
		return misfit(op, "%v to %v", o.X.Type, o.Y.Type)
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

func (o RMSNorm) launch(*CUDA) error { return fmt.Errorf("%w: rmsnorm on a GPU", ErrUnsupported) }
