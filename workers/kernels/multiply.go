package kernels

import "fmt"

// Multiply computes x *= y in place, element by element.
//
//	X, Y [T, D] both bf16 or both f32
//
// D is a multiple of 8, rows start at multiples of 16 bytes. CUDA has no kernel for it yet.
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

func (o Multiply) launch(*CUDA) error { return fmt.Errorf("%w: multiply on a GPU", ErrUnsupported) }
