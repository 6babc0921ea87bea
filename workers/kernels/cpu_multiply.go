package kernels

func (o Multiply) fast(c *CPU) bool {
	d := o.X.Dim(1)
	zeros := c.constant(d, 0)
	c.rows(o.X.Dim(0), d, func(w *scratch, from, to int) {
		for t := from; t < to; t++ {
			x := c.loadRow(o.X, t*o.X.Stride[0], d, w.floats(slotRow, d))
			c.level.MulAdd(x, x, c.loadRow(o.Y, t*o.Y.Stride[0], d, w.floats(slotSecond, d)), zeros)
			c.storeRow(o.X, t*o.X.Stride[0], x)
		}
	})
	return true
}
