package kernels

import "telefuser/workers/gpu"

// Multiply computes x *= y in place, element by element.
//
//	X, Y [T, D] both bf16 or both f32
//
// D is a multiple of 8, rows start at multiples of 16 bytes.
type Multiply struct{ X, Y Tensor }

// Check tells whether the tensors fit.
func (o Multiply) Check() error {
	const op = "multiply"
	if err := checkRows(op, columnsMax*8, o.X, o.Y); err != nil {
		return err
	}
	if o.X.Type != BF16 && o.X.Type != F32 || o.Y.Type != o.X.Type {
		return misfit(op, "%v by %v", o.X.Type, o.Y.Type)
	}
	return nil
}

func (o Multiply) reference() {
	for t := range o.X.Dim(0) {
		for i := range o.X.Dim(1) {
			at := t*o.X.Stride[0] + i
			o.X.Set(at, o.X.Get(at)*o.Y.Get(t*o.Y.Stride[0]+i))
		}
	}
}

func (o Multiply) launch(c *CUDA) error {
	d := o.X.Dim(1)
	return c.launch("multiply", "multiply_"+o.X.Type.String(), gpu.Grid{X: o.X.Dim(0), Threads: rowThreads(d, 1)}, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.Y.Dev).I64(int64(o.Y.Stride[0])).I32(d)
	})
}
