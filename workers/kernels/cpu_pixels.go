package kernels

// fast repeats or drops elements; Nearest alone.
func (o Resize) fast(c *CPU) bool {
	if o.Bilinear {
		return false
	}
	size := o.X.Type.Bytes() * o.X.Dim(3)
	h, w, oh, ow := o.X.Dim(1), o.X.Dim(2), o.Y.Dim(1), o.Y.Dim(2)
	c.rows(o.X.Dim(0)*oh, ow*o.X.Dim(3), func(_ *scratch, from, to int) {
		for r := from; r < to; r++ {
			src := o.X.Host[(r/oh*h+r%oh*h/oh)*w*size:][:w*size]
			dst := o.Y.Host[r*ow*size:][:ow*size]
			for x := range ow {
				at := x * w / ow * size
				copy(dst[x*size:(x+1)*size], src[at:at+size])
			}
		}
	})
	return true
}

// fast is the reference's numbers in stretches: element i is a function of its place alone.
func (o Noise) fast(c *CPU) bool {
	n, size := o.Y.Len(), o.Y.Type.Bytes()
	c.rows((n+3)/4, 64, func(_ *scratch, from, to int) {
		part := o
		part.First += 4 * uint64(from)
		part.Y = Layout(o.Y.Type, min(4*to, n)-4*from)
		part.Y.Host = o.Y.Host[4*from*size:]
		part.reference()
	})
	return true
}

// fast cuts frames into pairs of rows.
func (o I420) fast(c *CPU) bool {
	frames, h, w := o.size()
	c.rows(frames*h/2, 8*w, func(s *scratch, from, to int) {
		var planes [2][3][]uint8
		memory := s.bytes(slotRow, 6*w)
		for i := range 6 {
			planes[i/3][i%3] = memory[i*w : (i+1)*w]
		}
		for p := from; p < to; p++ {
			f, y := p/(h/2), p%(h/2)*2
			for k := range planes {
				for ch, row := range planes[k] {
					o.bytes(c, s, row, f, y+k, ch)
				}
			}
			o.pair(planes, f, y)
		}
	})
	return true
}

// bytes is one channel of a row, 0 to 255.
func (o I420) bytes(c *CPU, s *scratch, row []uint8, f, y, ch int) {
	frames, h, w := o.size()
	if o.X.Type == U8 {
		for x := range row {
			row[x] = o.X.Host[((f*h+y)*w+x)*3+ch]
		}
		return
	}
	if o.Interleaved {
		for x := range row {
			row[x] = uint8(o.pixel(f, y, x, ch))
		}
		return
	}
	for x, v := range c.loadRow(o.X, ((ch*frames+f)*h+y)*w, w, s.floats(slotSecond, w)) {
		row[x] = uint8(min(max((v+1)*127.5+0.5, 0), 255))
	}
}

// pair writes two rows of luma and the row of chroma that goes with them.
func (o I420) pair(rgb [2][3][]uint8, f, y int) {
	_, h, w := o.size()
	out := o.Y.Host[f*h*w*3/2:][:h*w*3/2]
	for k, p := range rgb {
		luma := out[(y+k)*w:][:w]
		for x := range luma {
			luma[x] = uint8((11966*int(p[0][x]) + 40254*int(p[1][x]) + 4064*int(p[2][x]) + 16<<16 + 1<<15) >> 16)
		}
	}
	u := out[h*w+y/2*(w/2):][:w/2]
	v := out[h*w+h/2*(w/2)+y/2*(w/2):][:w/2]
	for x := range u {
		var sum [3]int
		for i := range sum {
			sum[i] = int(rgb[0][i][2*x]) + int(rgb[0][i][2*x+1]) + int(rgb[1][i][2*x]) + int(rgb[1][i][2*x+1])
		}
		u[x] = uint8((-6596*sum[0] - 22189*sum[1] + 28785*sum[2] + 128<<18 + 1<<17) >> 18)
		v[x] = uint8((28785*sum[0] - 26145*sum[1] - 2640*sum[2] + 128<<18 + 1<<17) >> 18)
	}
}
