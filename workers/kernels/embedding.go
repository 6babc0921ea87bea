package kernels

import "telefuser/workers/gpu"

// Embedding copies y[i] = table[ids[i]]; an id outside the table gives zeros.
//
//	IDs [N] i32   Table [V, D] bf16   Y [N, D] bf16, all contiguous
type Embedding struct{ IDs, Table, Y Tensor }

// Check tells whether the tensors fit.
func (o Embedding) Check() error {
	const op = "embedding"
	if err := checkRows(op, columnsMax*8, o.Table); err != nil {
		return err
	}
	if err := checkRows(op, columnsMax*8, o.Y); err != nil {
		return err
	}
	if o.Table.Type != BF16 || o.Y.Type != BF16 || o.Y.Dim(1) != o.Table.Dim(1) || !o.Table.contiguous(0) || !o.Y.contiguous(0) {
		return misfit(op, "table %v, y %v", o.Table.Shape, o.Y.Shape)
	}
	return checkVector(op, o.IDs, I32, o.Y.Dim(0), false)
}

func (o Embedding) reference() {
	d := o.Table.Dim(1)
	for i := range o.Y.Dim(0) {
		id := o.IDs.integer(i)
		dst := o.Y.Host[2*i*d : 2*(i+1)*d]
		if id < 0 || id >= o.Table.Dim(0) {
			clear(dst)
			continue
		}
		copy(dst, o.Table.Host[2*id*d:])
	}
}

func (o Embedding) launch(c *CUDA) error {
	d := o.Table.Dim(1)
	return c.launch("embedding", "embedding_bf16", gpu.Grid{X: o.Y.Dim(0), Threads: rowThreads(d, 1)}, func(a *gpu.Args) {
		a.Ptr(o.IDs.Dev).Ptr(o.Table.Dev).Ptr(o.Y.Dev).I32(o.Table.Dim(0)).I32(d)
	})
}
