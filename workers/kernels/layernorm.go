package kernels

import (
	"fmt"
	"math"

	"telefuser/workers/gpu"
)

// columnsMax is the longest row that kernels with a row in registers take.
const columnsMax = 8 * 8 * 8 * 32

// rowShape is one build of a kernel with a row in registers: warps that share a row, vectors of
// eight elements a thread, threads of a block.
type rowShape struct{ warps, vectors, threads int }

func (s rowShape) String() string { return fmt.Sprintf("%dx%d", s.warps, s.vectors) }

// columns is the longest row that fits.
func (s rowShape) columns() int { return s.warps * 32 * s.vectors * 8 }

// Builds that are not for rows of a model's usual width.
var shortRow, longRow = rowShape{1, 4, 128}, rowShape{8, 8, 256} //nolint:gochecknoglobals // constants

// rowGrid picks the first build that a row of so many columns fits, and shapes its launch.
func rowGrid(rows, columns int, shapes ...rowShape) (string, gpu.Grid) {
	const warp = 32
	s := shapes[len(shapes)-1]
	for _, x := range shapes {
		if columns <= x.columns() {
			s = x
			break
		}
	}
	each := s.threads / (warp * s.warps)
	return s.String(), gpu.Grid{X: (rows + each - 1) / each, Threads: s.threads}
}

// Kernels whose blocks stay and walk over rows have at most walkThreads threads with two vectors
// of eight elements each; three such blocks fit on a multiprocessor.
const (
	walkThreads = 320
	walkBlocks  = 3
	walkColumns = 2 * 8 * walkThreads
)

// walkGrid picks between the builds with a row in registers and the one whose blocks walk over rows,
// with so many stages of rows of a type under way, and shapes the launch.
func (c *CUDA) walkGrid(rows, columns, stages int, t DType) (string, gpu.Grid) {
	if columns <= shortRow.columns() || columns > walkColumns {
		return rowGrid(rows, columns, shortRow, longRow)
	}
	const vectors, vector = 2, 8
	threads := rowThreads(columns, vectors)
	return "walk", gpu.Grid{
		X: min(rows, c.ctx.Multiprocessors()*(walkBlocks*walkThreads/threads)), Threads: threads, SharedBytes: stages * vectors * vector * t.Bytes() * threads,
	}
}

// LayerNorm computes y = (x - mean) / sqrt(var + eps) * (base + gain) + shift for every row,
// base being 1 with PlusOne and 0 without.
//
//	X [T, D] bf16 or f32    Gain, Shift [D] f32, either may be absent (gain 1, shift 0)
//	Y [T, D] bf16, or f32 (not by CUDA), or e4m3 with Scale [T] f32
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
	if !wide(o.X.Type) || !wide(o.Y.Type) && o.Y.Type != E4M3 {
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
	if err := narrowOnly("layernorm", o.Y); err != nil {
		return err
	}
	one := float32(0)
	if o.PlusOne {
		one = 1
	}
	d := o.X.Dim(1)
	stages := 4
	if o.X.Type == F32 {
		stages = 3
	}
	s, g := c.walkGrid(o.X.Dim(0), d, stages, o.X.Type)
	if c.flows(d, o.X.Type) {
		const planes = 4 // gain and shift
		shape := flowWide
		if o.Y.Type == E4M3 {
			shape = flowFives
		}
		s, g = "flow", shape.grid(c, o.X.Dim(0), planes, 0)
	}
	g.Overlap = c.overlaps
	return c.launch("layernorm", fmt.Sprintf("layernorm_%v_%v_%v", o.X.Type, o.Y.Type, s), g, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.Y.Dev).I64(int64(o.Y.Stride[0])).
			Ptr(o.Gain.Dev).Ptr(o.Shift.Dev).F32(one).Ptr(o.Scale.Dev).I32(o.X.Dim(0)).I32(d).F32(o.Eps)
	})
}
