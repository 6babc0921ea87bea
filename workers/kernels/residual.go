package kernels

import "telefuser/workers/gpu"

// GateResidual computes x += gate * y in place.
//
//	X [T, D] bf16 or f32   Y [T, D] bf16, or f32 beside f32   Gate [D] f32, absent: 1
type GateResidual struct{ X, Y, Gate Tensor }

// Check tells whether the tensors fit.
func (o GateResidual) Check() error {
	const op = "gate_residual"
	if err := checkRows(op, columnsMax*8, o.X, o.Y); err != nil {
		return err
	}
	if !wide(o.X.Type) || o.Y.Type != BF16 && o.Y.Type != o.X.Type {
		return misfit(op, "%v += %v", o.X.Type, o.Y.Type)
	}
	return checkVector(op, o.Gate, F32, o.X.Dim(1), true)
}

func (o GateResidual) reference() {
	for t := range o.X.Dim(0) {
		for i := range o.X.Dim(1) {
			g := 1.0
			if !o.Gate.Absent() {
				g = o.Gate.Get(i)
			}
			at := t*o.X.Stride[0] + i
			o.X.Set(at, o.X.Get(at)+g*o.Y.Get(t*o.Y.Stride[0]+i))
		}
	}
}

func (o GateResidual) launch(c *CUDA) error {
	d, name := o.X.Dim(1), "gate_residual_"+o.X.Type.String()
	if o.Y.Type == F32 {
		name += "_f32"
	}
	return c.launch("residual", name, gpu.Grid{X: o.X.Dim(0), Threads: rowThreads(d, 1)}, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.Y.Dev).I64(int64(o.Y.Stride[0])).Ptr(o.Gate.Dev).I32(d)
	})
}

// ScaleShift computes x = (1 + s) * x + t in place.
//
//	X [T, D] bf16 or f32   S, T [T, D] bf16, or f32 (not by CUDA) beside f32
type ScaleShift struct{ X, S, T Tensor }

// Check tells whether the tensors fit.
func (o ScaleShift) Check() error {
	const op = "scale_shift"
	if err := checkRows(op, columnsMax*8, o.X, o.S, o.T); err != nil {
		return err
	}
	if !wide(o.X.Type) || o.S.Type != o.T.Type || o.S.Type != BF16 && o.S.Type != o.X.Type {
		return misfit(op, "%v by %v and %v", o.X.Type, o.S.Type, o.T.Type)
	}
	return nil
}

func (o ScaleShift) reference() {
	for t := range o.X.Dim(0) {
		for i := range o.X.Dim(1) {
			at := t*o.X.Stride[0] + i
			o.X.Set(at, (1+o.S.Get(t*o.S.Stride[0]+i))*o.X.Get(at)+o.T.Get(t*o.T.Stride[0]+i))
		}
	}
}

func (o ScaleShift) launch(c *CUDA) error {
	if err := narrowOnly("scale_shift", o.S); err != nil {
		return err
	}
	d := o.X.Dim(1)
	return c.launch("residual", "scale_shift_"+o.X.Type.String(), gpu.Grid{X: o.X.Dim(0), Threads: rowThreads(d, 1)}, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.S.Dev).I64(int64(o.S.Stride[0])).Ptr(o.T.Dev).I64(int64(o.T.Stride[0])).I32(d)
	})
}
