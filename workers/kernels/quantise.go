package kernels

import (
	"fmt"

	"telefuser/workers/gpu"
)

// Quantise gives every row its own scale, so that its largest magnitude becomes 448.
//
//	X [T, D] bf16   Y [T, D] e4m3   Scale [T] f32: x is about y * scale
type Quantise struct{ X, Y, Scale Tensor }

// Check tells whether the tensors fit.
func (o Quantise) Check() error {
	if err := checkRows("quantise", columnsMax, o.X, o.Y); err != nil {
		return err
	}
	if o.X.Type != BF16 || o.Y.Type != E4M3 {
		return misfit("quantise", "%v to %v", o.X.Type, o.Y.Type)
	}
	return checkVector("quantise", o.Scale, F32, o.X.Dim(0), false)
}

func (o Quantise) reference() {
	row := make([]float64, o.X.Dim(1))
	for t := range o.X.Dim(0) {
		o.X.row(t, row)
		writeRow(o.Y, o.Scale, t, row)
	}
}

func (o Quantise) launch(c *CUDA) error {
	d := o.X.Dim(1)
	s, g := rowGrid(o.X.Dim(0), d, shortRow, rowShape{1, 20, 128}, rowShape{4, 14, 128}, longRow)
	g.Overlap = c.overlaps
	return c.launch("quantise", fmt.Sprintf("quantise_bf16_%v", s), g, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.Y.Dev).I64(int64(o.Y.Stride[0])).Ptr(o.Scale.Dev).I32(o.X.Dim(0)).I32(d)
	})
}

// Dequantise computes y = x * scale, the reverse of Quantise.
type Dequantise struct{ X, Scale, Y Tensor }

// Check tells whether the tensors fit.
func (o Dequantise) Check() error {
	if err := checkRows("dequantise", columnsMax*8, o.X, o.Y); err != nil {
		return err
	}
	if o.X.Type != E4M3 || o.Y.Type != BF16 {
		return misfit("dequantise", "%v to %v", o.X.Type, o.Y.Type)
	}
	return checkVector("dequantise", o.Scale, F32, o.X.Dim(0), false)
}

func (o Dequantise) reference() {
	for t := range o.X.Dim(0) {
		for i := range o.X.Dim(1) {
			o.Y.Set(t*o.Y.Stride[0]+i, o.X.Get(t*o.X.Stride[0]+i)*o.Scale.Get(t))
		}
	}
}

func (o Dequantise) launch(c *CUDA) error {
	d := o.X.Dim(1)
	return c.launch("quantise", "dequantise_bf16", gpu.Grid{X: o.X.Dim(0), Threads: rowThreads(d, 2), Overlap: c.overlaps}, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.Y.Dev).I64(int64(o.Y.Stride[0])).Ptr(o.Scale.Dev).I32(d)
	})
}
