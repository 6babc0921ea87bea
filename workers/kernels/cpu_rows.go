package kernels

import (
	"math"

	"telefuser/workers/kernels/simd"
)

// apply computes a function in place.
func (c *CPU) apply(f Function, v []float32) {
	switch f {
	case GELU:
		c.level.Sigmoid(v, simd.GELUa, simd.GELUb)
	case SiLU:
		c.level.Sigmoid(v, 1, 0)
	case ExactGELU:
		for i, x := range v {
			v[i] = float32(f.Apply(float64(x)))
		}
	case Identity:
	}
}

func (o LayerNorm) fast(c *CPU) bool {
	if o.Y.Type == E4M3 {
		return false
	}
	d := o.X.Dim(1)
	gain, shift := c.constant(d, 1), c.shared.floats(slotInit, d)
	clear(shift)
	switch {
	case o.Gain.Absent():
	case o.PlusOne:
		c.level.Affine(gain, view[float32](o.Gain.Host)[:d], 1, 1)
	default:
		copy(gain, view[float32](o.Gain.Host))
	}
	if !o.Shift.Absent() {
		copy(shift, view[float32](o.Shift.Host))
	}
	c.rows(o.X.Dim(0), d, func(w *scratch, from, to int) {
		buffer := w.floats(slotRow, d)
		for t := from; t < to; t++ {
			x := c.loadRow(o.X, t*o.X.Stride[0], d, buffer)
			sum, _ := c.level.Moments(x, 0)
			mean := sum / float32(d)
			rest, squares := c.level.Moments(x, mean)
			mean += rest / float32(d) // what rounding left
			inv := float32(1 / math.Sqrt(float64(squares)/float64(d)+float64(o.Eps)))
			y := target(o.Y, t*o.Y.Stride[0], d, buffer)
			c.level.Affine(y, x, inv, -mean*inv)
			c.level.MulAdd(y, y, gain, shift)
			c.storeRow(o.Y, t*o.Y.Stride[0], y)
		}
	})
	return true
}

// fast norms one row after the other, and does what follows for as many at once as lie side by side.
func (o RMSNorm) fast(c *CPU) bool {
	const elements = 1024 // at once: they stay in the nearest cache
	d, together := o.X.Dim(1), 1
	if o.X.contiguous(0) && o.Y.contiguous(0) {
		together = max(1, elements/d)
	}
	zeros, gain := c.shared.floats(slotInit, together*d), c.constant(together*d, 1)
	clear(zeros)
	if !o.Gain.Absent() {
		for i := range together {
			copy(gain[i*d:(i+1)*d], view[float32](o.Gain.Host))
		}
	}
	c.rows(o.X.Dim(0), d, func(w *scratch, from, to int) {
		buffer, wide := w.floats(slotRow, together*d), w.floats(slotSecond, together*d)
		for t := from; t < to; t += together {
			n := min(together, to-t) * d
			x := c.loadRow(o.X, t*o.X.Stride[0], n, wide)
			y := target(o.Y, t*o.Y.Stride[0], n, buffer)
			for i := 0; i < n; i += d {
				_, squares := c.level.Moments(x[i:i+d], 0)
				c.level.Affine(y[i:i+d], x[i:i+d], 1/float32(math.Sqrt(float64(squares)/float64(d)+float64(o.Eps))), 0)
			}
			c.level.MulAdd(y, y, gain[:n], zeros[:n])
			c.apply(o.F, y)
			c.storeRow(o.Y, t*o.Y.Stride[0], y)
		}
	})
	return true
}

func (o Softmax) fast(c *CPU) bool {
	if o.Factor < 0 {
		return false
	}
	d := o.X.Dim(1)
	c.rows(o.X.Dim(0), d, func(w *scratch, from, to int) {
		buffer := w.floats(slotRow, d)
		for t := from; t < to; t++ {
			x := c.loadRow(o.X, t*o.X.Stride[0], d, buffer)
			sum := c.level.ExpSum(buffer, x, o.Factor, c.level.Max(x)*o.Factor)
			c.level.Affine(buffer, buffer, 1/sum, 0)
			c.storeRow(o.Y, t*o.Y.Stride[0], buffer)
		}
	})
	return true
}

func (o Activation) fast(c *CPU) bool {
	d := o.X.Dim(1)
	c.rows(o.X.Dim(0), d, func(w *scratch, from, to int) {
		buffer := w.floats(slotRow, d)
		for t := from; t < to; t++ {
			copy(buffer, c.loadRow(o.X, t*o.X.Stride[0], d, buffer))
			c.apply(o.F, buffer)
			c.storeRow(o.Y, t*o.Y.Stride[0], buffer)
		}
	})
	return true
}

func (o GateResidual) fast(c *CPU) bool {
	d := o.X.Dim(1)
	gate := c.constant(d, 1)
	if !o.Gate.Absent() {
		gate = view[float32](o.Gate.Host)[:d]
	}
	c.rows(o.X.Dim(0), d, func(w *scratch, from, to int) {
		for t := from; t < to; t++ {
			x := c.loadRow(o.X, t*o.X.Stride[0], d, w.floats(slotRow, d))
			y := c.loadRow(o.Y, t*o.Y.Stride[0], d, w.floats(slotSecond, d))
			c.level.MulAdd(x, y, gate, x)
			c.storeRow(o.X, t*o.X.Stride[0], x)
		}
	})
	return true
}

func (o ScaleShift) fast(c *CPU) bool {
	d := o.X.Dim(1)
	c.rows(o.X.Dim(0), d, func(w *scratch, from, to int) {
		for t := from; t < to; t++ {
			x := c.loadRow(o.X, t*o.X.Stride[0], d, w.floats(slotRow, d))
			s := w.floats(slotSecond, d)
			c.level.Affine(s, c.loadRow(o.S, t*o.S.Stride[0], d, s), 1, 1)
			c.level.MulAdd(x, x, s, c.loadRow(o.T, t*o.T.Stride[0], d, w.floats(slotThird, d)))
			c.storeRow(o.X, t*o.X.Stride[0], x)
		}
	})
	return true
}
