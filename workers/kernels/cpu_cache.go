package kernels

import "math"

func (o RMSNormRoPE) fast(c *CPU) bool {
	if o.Y.Type == E4M3 {
		return false
	}
	const pairs = HeadDim / 2
	d := o.X.Dim(1)
	weight, table := view[float32](o.Weight.Host)[:d], view[float32](o.Table.Host)
	zeros := c.constant(d, 0)
	ends := [3]int{o.Axes.Frame, o.Axes.Frame + o.Axes.Row, pairs}
	c.rows(o.X.Dim(0), d, func(w *scratch, from, to int) {
		buffer, turns := w.floats(slotRow, d), w.floats(slotSecond, HeadDim)
		for t := from; t < to; t++ {
			x := c.loadRow(o.X, t*o.X.Stride[0], d, buffer)
			_, squares := c.level.Moments(x, 0)
			inv := float32(1 / math.Sqrt(float64(squares)/float64(d)+float64(o.Eps)))
			c.level.Affine(buffer, x, inv*o.Factor, 0)
			c.level.MulAdd(buffer, buffer, weight, zeros)
			first := 0
			for axis, p := range [3]int{o.State.integer(0) + t/(o.GridH*o.GridW), t / o.GridW % o.GridH, t % o.GridW} {
				copy(turns[2*first:2*ends[axis]], table[(p*pairs+first)*2:])
				first = ends[axis]
			}
			for h := 0; h < d; h += HeadDim {
				c.level.Rotate(buffer[h:h+HeadDim], buffer[h:h+HeadDim], turns)
			}
			at := t
			if o.InRing {
				at = ringSlot(o.State, t)
			}
			c.storeRow(o.Y, at*d, buffer)
		}
	})
	return true
}

func (o StoreValues) fast(c *CPU) bool {
	if o.Y.Type == E4M3 {
		return false
	}
	d := o.X.Dim(1)
	c.rows(o.X.Dim(0), d, func(w *scratch, from, to int) {
		buffer := w.floats(slotRow, d)
		for t := from; t < to; t++ {
			c.level.Affine(buffer, c.loadRow(o.X, t*o.X.Stride[0], d, buffer), o.Factor, 0)
			c.storeRow(o.Y, ringSlot(o.State, t)*d, buffer)
		}
	})
	return true
}
