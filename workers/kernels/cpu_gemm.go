package kernels

import (
	"unsafe"

	"telefuser/workers/kernels/simd"
)

// Slots of scratch memory. Shared ones are written by one operation's first step and read by the rest.
const (
	slotPanels = iota // shared
	slotMore          // shared: the second set of panels
	slotInit          // shared: what sums begin with
	slotOnes          // shared: vectors of constants

	slotStage  = 1 // a worker's; 0 is packing
	slotSums   = 2
	slotRow    = 3
	slotSecond = 4
	slotThird  = 5
)

// fast does products of bf16 and f32. A few rows are sums over the factors as they lie; more are tiles over packed panels.
func (o Gemm) fast(c *CPU) bool {
	const few = 4 // rows for which packing costs more than it saves
	if o.A.Type == E4M3 {
		return false
	}
	n := o.B.Dim(0)
	initial := c.initial(o.Bias, n)
	if o.A.Dim(0) < few && o.A.Type == BF16 {
		o.dots(c, initial)
		return true
	}
	p := c.pack(slotPanels, o.B, n, o.B.Dim(1), o.B.Stride[0])
	e := newEpilogue(c, o)
	c.product(o.A, p, initial, func(w *scratch, row, column int, v []float32) { e.row(w, row, column, v) })
	return true
}

// initial is a bias as float32, with zeros up to whole tiles.
func (c *CPU) initial(bias Tensor, n int) []float32 {
	v := c.shared.floats(slotInit, n+simd.Wide)
	clear(v)
	if !bias.Absent() {
		copy(v, c.loadRow(bias, 0, n, v))
	}
	return v
}

// product computes A [M, K] times panels and gives every row's sums, a stretch of columns at a time, to done.
func (c *CPU) product(a Tensor, p panels, initial []float32, done func(w *scratch, row, column int, v []float32)) {
	const cache = 384 << 10 // bytes of panels that one tile after the other uses
	m, k, height := a.Dim(0), a.Dim(1), p.level.Rows()
	tiles, groups := (m+height-1)/height, p.groups()
	each := max(1, min(cache/(groups[0].width*p.units*4), tiles*len(groups)/(4*c.workers)))
	stretches := (len(groups) + each - 1) / each
	pitch := pitchOf(p.units)
	c.each(tiles*stretches, sumsTime(m*k*p.columns), func(w *scratch, i int) {
		tile, first := i%tiles, i/tiles*each
		part := groups[first:min(first+each, len(groups))]
		staged, rows := w.bytes(slotStage, height*pitch), min(height, m-tile*height)
		for r := range rows {
			c.stage(p.level, staged[r*pitch:], a, (tile*height+r)*a.Stride[0], k)
		}
		c0, end := part[0].column, part[len(part)-1].column+part[len(part)-1].width
		columns := end - c0
		sums := w.floats(slotSums, height*columns)
		var zero int
		t := simd.Tile{A: unsafe.Pointer(&staged[0]), LDA: pitch, LDC: columns * 4, Offsets: unsafe.Pointer(&zero), Taps: 1, Units: p.units}
		for _, g := range part {
			t.B, t.C, t.Init = p.at(g), unsafe.Pointer(&sums[g.column-c0]), unsafe.Pointer(&initial[g.column])
			p.level.Run(g.width, &t)
		}
		for r := range rows {
			done(w, tile*height+r, c0, sums[r*columns:][:min(end, p.columns)-c0])
		}
	})
}

// dots computes one sum after the other, in stretches of columns.
func (o Gemm) dots(c *CPU, initial []float32) {
	m, k, n := o.A.Dim(0), o.A.Dim(1), o.B.Dim(0)
	a, b := c.shared.floats(slotPanels, m*k), view[uint16](o.B.Host)
	for i := range m {
		c.level.Widen(a[i*k:][:k], view[uint16](o.A.Host)[i*o.A.Stride[0]:][:k])
	}
	e := newEpilogue(c, o)
	const step = 16 // columns, so that functions meet them in the same lanes wherever the work is cut
	c.rows(n/step, step*k, func(w *scratch, from, to int) {
		from, to = from*step, to*step
		sums := w.floats(slotSums, to-from)
		for i := range m {
			for j := range sums {
				sums[j] = initial[from+j] + c.level.Dot(a[i*k:][:k], b[(from+j)*o.B.Stride[0]:][:k])
			}
			e.row(w, i, from, sums)
		}
	})
}

// epilogue is what happens to a row of sums that hold the bias.
type epilogue struct {
	c    *CPU
	o    Gemm
	ones []float32
}

func newEpilogue(c *CPU, o Gemm) epilogue { return epilogue{c, o, c.constant(o.B.Dim(0), 1)} }

// constant is a vector of one value.
func (c *CPU) constant(n int, x float32) []float32 {
	v := c.shared.floats(slotOnes, n)
	for i := range v {
		v[i] = x
	}
	return v
}

func (e epilogue) row(w *scratch, row, column int, v []float32) {
	l, n := e.c.level, len(v)
	e.c.apply(e.o.F, v)
	gate := e.ones[:n]
	if !e.o.Gate.Absent() {
		gate = view[float32](e.o.Gate.Host)[column : column+n]
	}
	switch r := e.o.Residual; {
	case !r.Absent():
		l.MulAdd(v, v, gate, e.c.loadRow(r, row*r.Stride[0]+column, n, w.floats(slotRow, n)))
	case !e.o.Gate.Absent():
		zeros := w.floats(slotRow, n)
		clear(zeros)
		l.MulAdd(v, v, gate, zeros)
	}
	e.c.storeRow(e.o.D, row*e.o.D.Stride[0]+column, v)
}
