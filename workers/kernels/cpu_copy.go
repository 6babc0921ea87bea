package kernels

// fast joins dimensions that lie one after the other in both tensors, and copies or converts the rows that are left.
func (o Copy) fast(c *CPU) bool {
	o = o.joined()
	n, size := o.X.Dim(-1), o.X.Type.Bytes()
	outer := o.X.Rank() - 1
	first := 1
	if outer > 0 {
		first = o.X.Dim(0)
	}
	c.rows(first, o.X.Len()/first, func(w *scratch, from, to int) {
		part := o
		if outer > 0 {
			part.X, part.Y = o.X.Rows(from, to), o.Y.Rows(from, to)
		}
		part.rows(outer, func(x, y int) {
			if o.X.Type == o.Y.Type {
				copy(part.Y.Host[y*size:(y+n)*size], part.X.Host[x*size:])
				return
			}
			c.storeRow(part.Y, y, c.loadRow(part.X, x, n, w.floats(slotRow, n)))
		})
	})
	return true
}

// joined is the same copy with as few dimensions as it can have.
func (o Copy) joined() Copy {
	var shape, x, y []int
	for i, n := range o.X.Shape {
		last := len(shape) - 1
		if last >= 0 && shape[last] == 1 {
			shape, x, y = shape[:last], x[:last], y[:last]
			last--
		}
		if last >= 0 && (n == 1 || x[last] == n*o.X.Stride[i] && y[last] == n*o.Y.Stride[i]) {
			if n > 1 {
				shape[last], x[last], y[last] = shape[last]*n, o.X.Stride[i], o.Y.Stride[i]
			}
			continue
		}
		shape, x, y = append(shape, n), append(x, o.X.Stride[i]), append(y, o.Y.Stride[i])
	}
	if last := len(shape) - 1; x[last] != 1 || y[last] != 1 { // ends in single elements
		shape, x, y = append(shape, 1), append(x, 1), append(y, 1)
	}
	return Copy{X: o.X.reshape(shape, x), Y: o.Y.reshape(shape, y)}
}
