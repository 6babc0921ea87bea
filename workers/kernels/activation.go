package kernels

import (
	"math"

	"telefuser/workers/gpu"
)

// Function is an element-wise function.
type Function int

// Functions.
const (
	Identity Function = iota
	GELU              // in the tanh form
	SiLU
	ExactGELU // x times the normal distribution's integral; by Activation alone
)

// Apply computes the function in float64.
func (f Function) Apply(x float64) float64 {
	switch f {
	case GELU:
		return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	case SiLU:
		return x / (1 + math.Exp(-x))
	case ExactGELU:
		return 0.5 * x * math.Erfc(-x/math.Sqrt2)
	default:
		return x
	}
}

// Activation computes y = f(x) by any function but Identity, X and Y [T, D] both bf16 or, not by CUDA, both f32; they may be the same.
type Activation struct {
	X, Y Tensor
	F    Function
}

// Check tells whether the tensors fit.
func (o Activation) Check() error {
	if err := checkRows("activation", columnsMax*8, o.X, o.Y); err != nil {
		return err
	}
	if !wide(o.X.Type) || o.Y.Type != o.X.Type || o.F < GELU || o.F > ExactGELU {
		return misfit("activation", "%v to %v by function %d", o.X.Type, o.Y.Type, o.F)
	}
	return nil
}

func (o Activation) reference() {
	for t := range o.X.Dim(0) {
		for i := range o.X.Dim(1) {
			o.Y.Set(t*o.Y.Stride[0]+i, o.F.Apply(o.X.Get(t*o.X.Stride[0]+i)))
		}
	}
}

func (o Activation) launch(c *CUDA) error {
	if err := narrowOnly("activation", o.X); err != nil {
		return err
	}
	name := map[Function]string{GELU: "gelu_bf16", SiLU: "silu_bf16", ExactGELU: "gelu_exact_bf16"}
	d := o.X.Dim(1)
	return c.launch("activation", name[o.F], gpu.Grid{X: o.X.Dim(0), Threads: rowThreads(d, 1)}, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.Y.Dev).I64(int64(o.Y.Stride[0])).I32(d)
	})
}
