package kernels

import (
	"unsafe"

	"telefuser/workers/kernels/simd"
)

// convPlan cuts a convolution into bands of output rows. A band's input, with its borders, is
// staged as units; the products of one output position are then those of a row of a matrix whose
// rows overlap, so that the tiles of Gemm serve: a tap is a row of the kernel, whose columns and
// channels lie one after the other.
type convPlan struct {
	o                        Conv3D
	c                        *CPU
	p                        panels
	band, bands              int // output rows of a band, bands of a frame
	position, line, frame    int // bytes of a staged position, row and frame
	rows, columns            int // staged, of a band
	padH, padW, stepT, stepS int
	offsets                  []int
	initial, ones            []float32
}

func (o Conv3D) fast(c *CPU) bool {
	kt, kh, kw, n := o.W.Dim(1), o.W.Dim(2), o.W.Dim(3), o.W.Dim(0)
	if o.PadT >= kt {
		return false // frames without any input
	}
	k := kt * kh * kw * o.X.Dim(3)
	s := convPlan{o: o, c: c, p: c.pack(slotPanels, o.W, n, k, k), initial: c.initial(o.Bias, n)}
	s.ones = c.constant(s.p.level.Rows()*s.p.padded(), 1)
	s.stepT, s.stepS = o.strides()
	s.padH, s.padW = o.padding()
	s.cut()
	for tap := range kt * kh {
		s.offsets = append(s.offsets, tap/kh*s.frame+tap%kh*s.line)
	}
	c.each(o.Y.Dim(0)*s.bands, sumsTime(o.Y.Len()*k), func(w *scratch, i int) { s.run(w, i/s.bands, i%s.bands*s.band) })
	return true
}

// cut chooses the band: what fits into a core's cache, and enough of them for all workers.
func (s *convPlan) cut() {
	const cache = 384 << 10
	o := s.o
	kt, kh, kw, height := o.W.Dim(1), o.W.Dim(2), o.W.Dim(3), o.Y.Dim(1)
	s.position = o.X.Dim(3) / unitOf(s.p.level) * 4
	s.columns = (o.Y.Dim(2)-1)*s.stepS + kw
	s.line = s.columns * s.position
	fits := (cache/(kt*s.line) - kh + s.stepS) / s.stepS
	wanted := (o.Y.Dim(0)*height + 4*s.c.workers - 1) / (4 * s.c.workers)
	s.band = max(1, min(height, fits, wanted))
	s.bands = (height + s.band - 1) / s.band
	s.rows = (s.band-1)*s.stepS + kh
	s.frame = s.rows * s.line
}

// run computes the rows from y on of output frame f.
func (s *convPlan) run(w *scratch, f, y int) {
	kt, kh, kw := s.o.W.Dim(1), s.o.W.Dim(2), s.o.W.Dim(3)
	rows, width := min(s.band, s.o.Y.Dim(1)-y), s.o.Y.Dim(2)
	skipped := max(0, s.o.PadT-f*s.stepT) // frames before the first
	step := s.stepS * s.position
	staged := w.bytes(slotStage, kt*s.frame+s.p.level.Rows()*step)
	for dt := skipped; dt < kt; dt++ {
		s.stageFrame(staged[dt*s.frame:][:s.frame], f*s.stepT+dt-s.o.PadT, y*s.stepS-s.padH)
	}
	t := simd.Tile{LDA: step, LDC: s.p.padded() * 4, Taps: (kt - skipped) * kh, Units: kw * s.position / 4,
		Offsets: unsafe.Pointer(&s.offsets[skipped*kh])}
	b := skipped * kh * t.Units // units of panels that are skipped
	if s.stepS == 1 {
		s.tiles(w, &t, staged, b, (rows-1)*s.columns+width, f, y)
		return
	}
	for r := range rows {
		s.tiles(w, &t, staged[r*s.stepS*s.line:], b, width, f, y+r)
	}
}

// stageFrame copies a band of one input frame, from row y on, between borders of zeros.
func (s *convPlan) stageFrame(dst []byte, frame, y int) {
	h, w, ch := s.o.X.Dim(1), s.o.X.Dim(2), s.o.X.Dim(3)
	inside := min(w, s.columns-s.padW) // columns of input in a row
	for r := range s.rows {
		row := dst[r*s.line:][:s.line]
		if y+r < 0 || y+r >= h {
			clear(row)
			continue
		}
		clear(row[:s.padW*s.position])
		s.c.stage(s.p.level, row[s.padW*s.position:], s.o.X, (frame*h+y+r)*w*ch, inside*ch)
		clear(row[(s.padW+inside)*s.position:])
	}
}

// tiles computes count positions from the band's first row on, those between rows included, and
// stores the others from output row y on.
func (s *convPlan) tiles(w *scratch, t *simd.Tile, staged []byte, skipped, count, f, y int) {
	height, columns := s.p.level.Rows(), s.p.padded()
	sums := w.floats(slotSums, height*columns)
	groups := s.p.groups()
	for first := 0; first < count; first += height {
		t.A = unsafe.Pointer(&staged[first*t.LDA])
		for _, g := range groups {
			t.B = unsafe.Add(s.p.at(g), skipped*g.width*4)
			t.C, t.Init = unsafe.Pointer(&sums[g.column]), unsafe.Pointer(&s.initial[g.column])
			s.p.level.Run(g.width, t)
		}
		last := min(first+height, count)
		for at := first; at < last; {
			row, x := at/s.columns, at%s.columns
			n := min(last-at, s.columns-x)
			if valid := min(n, s.o.Y.Dim(2)-x); valid > 0 {
				s.store(w, sums[(at-first)*columns:][:valid*columns], ((f*s.o.Y.Dim(1)+y+row)*s.o.Y.Dim(2)+x)*s.o.Y.Dim(3))
			}
			at += n
		}
	}
}

// store rounds the sums of neighbouring positions into the output, from an element on.
func (s *convPlan) store(w *scratch, sums []float32, at int) {
	n, columns := s.o.Y.Dim(3), s.p.padded()
	if n == columns {
		s.add(w, sums, at)
		s.c.storeRow(s.o.Y, at, sums)
		return
	}
	for i := 0; i < len(sums); i += columns {
		s.add(w, sums[i:i+n], at)
		s.c.storeRow(s.o.Y, at, sums[i:i+n])
		at += n
	}
}

func (s *convPlan) add(w *scratch, sums []float32, at int) {
	if s.o.Residual.Absent() {
		return
	}
	r := s.c.loadRow(s.o.Residual, at, len(sums), w.floats(slotRow, len(sums)))
	s.c.level.MulAdd(sums, sums, s.ones[:len(sums)], r)
}
