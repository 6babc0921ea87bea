package wan

import (
	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// level is some layers with a way around them, whose end is added to theirs.
type level struct {
	around around
	layers []layer
}

// around makes frames of the level's end of those at its beginning, in memory of its own.
type around interface {
	over(p *vaePass) kernels.Tensor
}

func (l level) run(p *vaePass) {
	end := l.around.over(p)
	for _, x := range l.layers {
		if p.err == nil {
			x.run(p)
		}
	}
	if p.err == nil {
		p.do(kernels.GateResidual{X: matrix(p.x), Y: matrix(end)})
	}
}

// meanDown joins what lies in a step of time and space, frame, row and column within channel, into groups of neighbours, and takes the mean of each. It is
// a convolution whose weights are known. Before the very first frame lies one of zeros, where time is halved.
type meanDown struct{ conv }

func (l *loader) meanDown(in, out int, time, space bool) meanDown {
	kernel := []int{1, 1, 1}
	if time {
		kernel[0] = 2
	}
	if space {
		kernel[1], kernel[2] = 2, 2
	}
	all := in * product(kernel)
	group := all / out
	w := make([]float32, out*all)
	for i := range all {
		w[i/group*all+i] = 1 / float32(group)
	}
	return meanDown{l.convOf(w, make([]float32, out), out, in, kernel)}
}

func (m meanDown) over(p *vaePass) kernels.Tensor {
	time, space, before := m.w.Dim(1), m.w.Dim(2), 0
	if p.first {
		before = time - 1
	}
	y := p.take(p.around, (p.x.Dim(0)+before)/time, p.x.Dim(1)/space, p.x.Dim(2)/space, m.w.Dim(0))
	p.do(kernels.Conv3D{X: p.x, W: m.w, Bias: m.b, Y: y, PadT: before, StrideT: time, StrideS: space})
	return y
}

// repeatUp does the opposite: each channel becomes as many neighbours as there are channels for in a step of space, and of time where it doubles. The very
// first frame has its last copy alone.
type repeatUp struct {
	out    int
	frames int // of a step of time
}

func (r repeatUp) over(p *vaePass) kernels.Tensor {
	t, h, w, in := p.x.Dim(0), p.x.Dim(1), p.x.Dim(2), p.x.Dim(3)
	const rows, columns = 2, 2
	dropped := 0
	if p.first {
		dropped = r.frames - 1
	}
	y := p.take(p.around, r.frames*t-dropped, rows*h, columns*w, r.out)
	places := r.frames * rows * columns
	each := r.out * places / in // copies of a channel, which lie one after the other
	for place := range places {
		frame, row, column := place/columns/rows, place/columns%rows, place%columns
		from := 0
		if frame < dropped {
			from = 1
		}
		if from == t {
			continue
		}
		shape := []int{t - from, h, w, r.out, 1}
		src := p.view(p.x, from*h*w*in+place/each, shape, []int{h * w * in, w * in, in, in / r.out, 1})
		first := (from*r.frames+frame-dropped)*rows*h + row
		dst := p.view(y, (first*columns*w+column)*r.out, shape, []int{r.frames * rows * h * columns * w * r.out, rows * columns * w * r.out, columns * r.out, 1, 1})
		p.do(kernels.Copy{X: src, Y: dst})
	}
	return y
}

// checkLevels says whether the ways around the levels of a residual VAE are such means and copies.
func checkLevels(c weights.VAEConfig) bool {
	before := c.Base
	for i := range c.Multiples {
		steps := 1
		if i < len(c.TimeHalved) {
			if steps = 4; c.TimeHalved[i] {
				steps = 8
			}
		}
		out, _ := c.Widths(i)
		if before*steps%out != 0 {
			return false
		}
		before = out
	}
	for i := range c.TimeHalved { // the decoder's level i makes frames of that level's width, of the wider ones before
		_, out := c.Widths(i + 1)
		_, in := c.Widths(min(i+2, len(c.Multiples)-1))
		steps := 4
		if c.TimeHalved[i] {
			steps = 8
		}
		if in%out != 0 || steps%(in/out) != 0 {
			return false
		}
	}
	return true
}
