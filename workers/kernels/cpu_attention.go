package kernels

import (
	"unsafe"

	"telefuser/workers/kernels/simd"
)

// fast does heads of bf16 and f32, as many at once as have room: keys and values are packed as
// panels, then every tile of queries makes all its scores, their exponentials and the weighted sums
// of values. At AVX512BF16 probabilities are rounded to bf16, as on the GPU.
func (o Attention) fast(c *CPU) bool {
	if o.Q.Type == E4M3 || o.Scale < 0 {
		return false
	}
	const room = 64 << 20  // bytes of panels, of keys and of values
	c.initial(Tensor{}, 0) // zeros
	together := min(o.Heads(), 1+room/(o.Keys*HeadDim*4))
	for h := 0; h < o.Heads(); h += together {
		o.heads(c, h, min(together, o.Heads()-h))
	}
	return true
}

// heads does so many heads from one on.
func (o Attention) heads(c *CPU, first, count int) {
	const block = 64 // units of values that a worker packs at a time
	keys, values := c.panels(slotPanels, count, o.K.Type, o.Keys, HeadDim), c.panels(slotMore, count, o.V.Type, HeadDim, o.Keys)
	groups, units := keys[0].groups(), values[0].units
	parts := len(groups) + (units+block-1)/block
	c.each(count*parts, count*o.Keys*HeadDim/2, func(w *scratch, i int) {
		h, part := i/parts, i%parts
		at := (first + h) * HeadDim
		if part < len(groups) {
			c.packGroup(w, keys[h], groups[part], o.K.offset(at), HeadDim, o.K.Stride[0])
			return
		}
		from := (part - len(groups)) * block
		c.packValues(values[h], o.V.offset(at), o.Keys, from, min(from+block, units))
	})
	height := keys[0].level.Rows()
	tiles := (o.Q.Dim(0) + height - 1) / height
	c.each(count*tiles, sumsTime(2*count*o.Q.Dim(0)*o.Keys*HeadDim), func(w *scratch, i int) {
		h := i / tiles
		o.queries(c, w, keys[h], values[h], first+h, i%tiles*height)
	})
}

// packValues fills units of a head's values, which run over keys; a missing last key is zeros.
func (c *CPU) packValues(p panels, v Tensor, keys, from, to int) {
	var zeros [HeadDim]uint16
	per, stride, groups := unitOf(p.level), v.Stride[0], p.groups()
	for u := from; u < to; u++ {
		for _, g := range groups {
			dst := p.data[(g.column*p.units+u*g.width)*4:][:g.width*4]
			if per == 1 {
				c.stage(p.level, dst, v, u*stride+g.column, g.width)
				continue
			}
			rows, b := view[uint16](v.Host)[2*u*stride+g.column:], zeros[:g.width]
			if 2*u+1 < keys {
				b = rows[stride:][:g.width]
			}
			c.level.Interleave(view[uint32](dst), rows[:g.width], b)
		}
	}
}

// queries does a tile of queries of head h, from row first on.
func (o Attention) queries(c *CPU, w *scratch, keys, values panels, h, first int) {
	height := keys.level.Rows()
	rows := min(height, o.Q.Dim(0)-first)
	pitch := pitchOf(keys.units)
	staged := w.bytes(slotStage, height*pitch)
	for r := range rows {
		c.stage(keys.level, staged[r*pitch:], o.Q, (first+r)*o.Q.Stride[0]+h*HeadDim, HeadDim)
	}
	long := pitchOf(keys.padded()) / 4
	scores := w.floats(slotSums, height*long)
	c.multiply(keys, unsafe.Pointer(&staged[0]), pitch, scores, long)
	probabilities, step := unsafe.Pointer(&scores[0]), long*4
	var sums [16]float32
	for r := range rows {
		s := scores[r*long:][:o.Keys]
		sums[r] = c.level.ExpSum(s, s, o.Scale, c.level.Max(s)*o.Scale)
	}
	if values.level.Pairs() {
		step = pitchOf(values.units)
		narrow := w.bytes(slotRow, height*step)
		for r := range rows {
			p := view[uint16](narrow[r*step:][:values.units*4])
			p[len(p)-1] = 0
			c.level.Narrow(p[:o.Keys], scores[r*long:][:o.Keys])
		}
		probabilities = unsafe.Pointer(&narrow[0])
	}
	out := w.floats(slotSecond, height*HeadDim)
	c.multiply(values, probabilities, step, out, HeadDim)
	for r := range rows {
		v := out[r*HeadDim:][:HeadDim]
		c.level.Affine(v, v, o.ValueScale/sums[r], 0)
		c.storeRow(o.O, (first+r)*o.O.Stride[0]+h*HeadDim, v)
	}
}

// multiply computes a tile's rows, pitch bytes apart, times all panels; sums are columns long.
func (c *CPU) multiply(p panels, a unsafe.Pointer, pitch int, sums []float32, columns int) {
	var zero int
	zeros := c.shared.floats(slotInit, simd.Wide)
	t := simd.Tile{A: a, LDA: pitch, LDC: columns * 4, Offsets: unsafe.Pointer(&zero), Taps: 1, Units: p.units, Init: unsafe.Pointer(&zeros[0])}
	for _, g := range p.groups() {
		t.B, t.C = p.at(g), unsafe.Pointer(&sums[g.column])
		p.level.Run(g.width, &t)
	}
}
