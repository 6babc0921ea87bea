package kernels

import (
	"fmt"
	"math"

	"telefuser/workers/gpu"
)

// HeadDim is the width of an attention head, the only one that the kernels know.
const HeadDim = 128

// Ring is the state of a ring cache that kernels read from device memory: I32 [4] holding
// the frame of the first token, the slot of the first token, and the ring's first slot and
// end. Slots before the ring hold keys that stay.
type Ring struct{ Frame, Slot, First, End int }

// Axes split the 64 pairs of a head among frame, row and column.
type Axes struct{ Frame, Row, Column int }

// RMSNormRoPE computes y = rope(x / rms(x) * weight) * factor for every token of a grid of
// GridH x GridW patches a frame.
//
//	X [T, H*128] bf16 or f32   Weight [H*128] f32   Table [P, 64, 2] f32, (cos, sin)   State [4] i32, see Ring
//	Y bf16, f32 or e4m3: [T, H*128] for queries; [slots, H*128] with InRing, token t at its slot of the ring
//
// The norm runs over all heads together. Positions and slots must lie inside the table and Y. CUDA
// has no kernel for f32.
type RMSNormRoPE struct {
	X, Weight, Table, State, Y Tensor
	InRing                     bool
	GridH, GridW               int
	Axes                       Axes
	Eps, Factor                float32
}

// Check tells whether the tensors fit.
func (o RMSNormRoPE) Check() error {
	const op = "rmsnorm_rope"
	if err := checkRows(op, columnsMax, o.X); err != nil {
		return err
	}
	if err := checkRows(op, columnsMax, o.Y); err != nil {
		return err
	}
	d := o.X.Dim(1)
	switch {
	case !wide(o.X.Type) || !wide(o.Y.Type) && o.Y.Type != E4M3:
		return misfit(op, "%v to %v", o.X.Type, o.Y.Type)
	case d%HeadDim != 0 || o.Y.Dim(1) != d || !o.Y.contiguous(0):
		return misfit(op, "x %v, y %v: want heads of %d", o.X.Shape, o.Y.Shape, HeadDim)
	case !o.InRing && o.Y.Dim(0) != o.X.Dim(0):
		return misfit(op, "%d tokens into %d rows", o.X.Dim(0), o.Y.Dim(0))
	case o.Table.Rank() != 3 || o.Table.Type != F32 || o.Table.Dim(1) != HeadDim/2 || o.Table.Dim(2) != 2 || !o.Table.contiguous(0):
		return misfit(op, "table %v", o.Table.Shape)
	case o.GridH < 1 || o.GridW < 1 || o.Axes.Frame+o.Axes.Row+o.Axes.Column != HeadDim/2:
		return misfit(op, "grid %dx%d, axes %v", o.GridH, o.GridW, o.Axes)
	case max(o.GridH, o.GridW) > o.Table.Dim(0):
		return misfit(op, "grid %dx%d beyond %d positions", o.GridH, o.GridW, o.Table.Dim(0))
	}
	if err := checkVector(op, o.Weight, F32, d, false); err != nil {
		return err
	}
	return checkVector(op, o.State, I32, 4, false)
}

// slot is where token t goes.
func ringSlot(state Tensor, t int) int {
	slot, first, end := state.integer(1), state.integer(2), state.integer(3)
	return first + (slot-first+t)%(end-first)
}

func (o RMSNormRoPE) reference() {
	d := o.X.Dim(1)
	row := make([]float64, d)
	for t := range o.X.Dim(0) {
		o.X.row(t, row)
		var sq float64
		for _, v := range row {
			sq += v * v
		}
		inv := 1 / math.Sqrt(sq/float64(d)+float64(o.Eps))
		pos := [3]int{o.State.integer(0) + t/(o.GridH*o.GridW), t / o.GridW % o.GridH, t % o.GridW}
		at := t
		if o.InRing {
			at = ringSlot(o.State, t)
		}
		for c := 0; c < d; c += 2 {
			pair := c % HeadDim / 2
			axis := 2
			if pair < o.Axes.Frame {
				axis = 0
			} else if pair < o.Axes.Frame+o.Axes.Row {
				axis = 1
			}
			k := (pos[axis]*HeadDim/2 + pair) * 2
			cos, sin := o.Table.Get(k), o.Table.Get(k+1)
			a, b := row[c]*inv*o.Weight.Get(c), row[c+1]*inv*o.Weight.Get(c+1)
			o.Y.Set(at*d+c, (a*cos-b*sin)*float64(o.Factor))
			o.Y.Set(at*d+c+1, (a*sin+b*cos)*float64(o.Factor))
		}
	}
}

func (o RMSNormRoPE) launch(c *CUDA) error {
	if err := narrowOnly("rmsnorm_rope", o.X, o.Y); err != nil {
		return err
	}
	d := o.X.Dim(1)
	ring := 0
	if o.InRing {
		ring = 1
	}
	s, g := c.walkGrid(o.X.Dim(0), d, 4, o.X.Type)
	if c.flows(d, o.X.Type) {
		const planes, turns = 2, 2 * 64 * 8 // the weight; (cos, sin) of two tokens
		s, g = "flow", flowFives.grid(c, o.X.Dim(0), planes, turns)
	}
	g.Overlap = c.overlaps
	return c.launch("rmsnorm_rope", fmt.Sprintf("rmsnorm_rope_%v_%v", o.Y.Type, s), g, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.Weight.Dev).Ptr(o.Table.Dev).Ptr(o.State.Dev).Ptr(o.Y.Dev).
			I32(ring).I32(o.X.Dim(0)).I32(d).I32(o.GridH).I32(o.GridW).I32(o.Axes.Frame).I32(o.Axes.Row).F32(o.Eps).F32(o.Factor)
	})
}

// StoreValues writes attention values into the ring cache, times Factor.
//
//	X [T, H*128] bf16 or f32 (not by CUDA)   State [4] i32, see Ring
//	Y [slots, H*128] of X's type, or e4m3 [H*128, capacity] with the keys of every group of 16 in
//	the order of KeyOrder
//
// With e4m3, the ring's first slot, end and the first token's slot are multiples of 16.
type StoreValues struct {
	X, State, Y Tensor
	Factor      float32
}

// KeyOrder is the place of key k among the 16 of its group in a transposed e4m3 cache:
// the order in which a thread of the attention kernel holds its probabilities.
func KeyOrder(k int) int {
	if k %= 16; k >= 8 {
		return (k-8)/2*4 + 2 + k%2
	}
	return k/2*4 + k%2
}

// Check tells whether the tensors fit.
func (o StoreValues) Check() error {
	const op = "store_values"
	if err := checkRows(op, columnsMax*8, o.X); err != nil {
		return err
	}
	d := o.X.Dim(1)
	if !wide(o.X.Type) || o.Y.Rank() != 2 || !o.Y.contiguous(0) || d%HeadDim != 0 {
		return misfit(op, "x %v, y %v", o.X.Shape, o.Y.Shape)
	}
	switch {
	case o.Y.Type == o.X.Type && o.Y.Dim(1) == d:
	case o.Y.Type == E4M3 && o.Y.Dim(0) == d && o.Y.Dim(1)%16 == 0:
	default:
		return misfit(op, "x %v, y %v of %v", o.X.Shape, o.Y.Shape, o.Y.Type)
	}
	return checkVector(op, o.State, I32, 4, false)
}

func (o StoreValues) reference() {
	d, tokens := o.X.Dim(1), o.X.Dim(0)
	for t := range (tokens + 15) / 16 * 16 {
		if t >= tokens && o.Y.Type != E4M3 {
			return
		}
		slot := ringSlot(o.State, t)
		for c := range d {
			v := 0.0 // the group's missing keys read as zero, never as leftovers
			if t < tokens {
				v = o.X.Get(t*o.X.Stride[0]+c) * float64(o.Factor)
			}
			if o.Y.Type != E4M3 {
				o.Y.Set(slot*d+c, v)
			} else {
				o.Y.Set(c*o.Y.Dim(1)+slot/16*16+KeyOrder(slot), v)
			}
		}
	}
}

func (o StoreValues) launch(c *CUDA) error {
	if err := narrowOnly("store_values", o.X); err != nil {
		return err
	}
	d := o.X.Dim(1)
	if o.Y.Type == BF16 {
		return c.launch("rmsnorm_rope", "store_values_bf16", gpu.Grid{X: o.X.Dim(0), Threads: rowThreads(d, 1), Overlap: c.overlaps}, func(a *gpu.Args) {
			a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.State.Dev).Ptr(o.Y.Dev).I32(d).F32(o.Factor)
		})
	}
	const tokens, columns, threads = 256, 64, 512 // of a block
	g := gpu.Grid{X: (o.X.Dim(0) + tokens - 1) / tokens, Y: d / columns, Threads: threads, Overlap: c.overlaps}
	return c.launch("rmsnorm_rope", "store_values_e4m3", g, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).I64(int64(o.X.Stride[0])).Ptr(o.State.Dev).Ptr(o.Y.Dev).I32(d).I32(o.Y.Dim(1)).I32(o.X.Dim(0)).F32(o.Factor)
	})
}

// ropeTheta is the base of the rotary embedding's wavelengths.
const ropeTheta = 10000

// RoPETable computes the (cos, sin) table [positions, 64, 2] in host memory. Each axis has
// its own wavelengths: pair i of n turns by position / theta^(i/n).
func RoPETable(positions int, axes Axes) Tensor {
	t := Layout(F32, positions, HeadDim/2, 2)
	t.Host = make([]byte, t.Span())
	for p := range positions {
		pair := 0
		for _, n := range []int{axes.Frame, axes.Row, axes.Column} {
			for i := range n {
				angle := float64(p) / math.Pow(ropeTheta, float64(i)/float64(n))
				t.Set((p*HeadDim/2+pair)*2, math.Cos(angle))
				t.Set((p*HeadDim/2+pair)*2+1, math.Sin(angle))
				pair++
			}
		}
	}
	return t
}
