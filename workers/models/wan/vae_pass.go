package wan

import (
	"fmt"
	"math"

	"telefuser/workers/kernels"
)

// buffer is work space that tensors of several shapes take in turn.
type buffer struct {
	mem kernels.Tensor
	// most is how many elements a plan has asked for.
	most int
}

// vaeWork is the work space of one half of a VAE: what a pass reads and writes in turn. Sessions share it.
type vaeWork struct {
	current, spare, around, hidden, padded, values, scores buffer
	// positions are those that attention has in a frame; hidden keys fill them up to a multiple of modelStep.
	positions int
	hiding    kernels.Tensor
}

// hiddenScore is added to the scores of keys that are none: nothing is left of their exponentials.
const hiddenScore = -3e4

// hide makes what hides the keys that fill a frame's positions up.
func (w *vaeWork) hide(b kernels.Backend, act kernels.DType) error {
	if w.positions%modelStep == 0 {
		return nil
	}
	scores := make([]float32, filled(w.positions))
	for i := w.positions; i < len(scores); i++ {
		scores[i] = hiddenScore
	}
	var err error
	if w.hiding, err = newTensor(b, act, scores, len(scores)); err != nil {
		return fmt.Errorf("wan: work space: %w", err)
	}
	return nil
}

// filled is a number of positions filled up to a multiple of modelStep.
func filled(positions int) int { return (positions + modelStep - 1) / modelStep * modelStep }

// vaePass is one run of a chunk's frames through the layers of a half. While it plans, it runs nothing and notes what memory is needed.
type vaePass struct {
	runner
	act  kernels.DType
	plan bool
	// first says that no frame came before.
	first bool
	// caches are the last frames before each convolution over time, in the order of the layers; at is the next one's place.
	caches *[]kernels.Tensor
	at     int

	// x are the frames so far [T, H, W, C], in current; result is what the last operation made.
	x, result                      kernels.Tensor
	work                           *vaeWork
	current, spare, around         *buffer
	hidden, padded, values, scores *buffer
}

// take gives a buffer's memory a shape.
func (p *vaePass) take(b *buffer, shape ...int) kernels.Tensor {
	if p.plan {
		b.most = max(b.most, product(shape))
		return kernels.Layout(p.act, shape...)
	}
	if product(shape) > b.mem.Len() {
		p.err = errorsFirst(p.err, ErrInput)
		return kernels.Layout(p.act, shape...)
	}
	return b.mem.Rows(0, product(shape)).Reshape(shape...)
}

// cache gives the frames that the next convolution over time remembers.
func (p *vaePass) cache(shape ...int) kernels.Tensor {
	if p.plan && p.at == len(*p.caches) {
		*p.caches = append(*p.caches, kernels.Layout(p.act, shape...))
	}
	p.at++
	return (*p.caches)[p.at-1]
}

func (p *vaePass) do(op kernels.Op) {
	if p.plan {
		p.err = errorsFirst(p.err, op.Check())
		return
	}
	p.run(op)
}

func errorsFirst(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// swap makes the result in spare the frames.
func (p *vaePass) swap() {
	p.x = p.result
	p.current, p.spare = p.spare, p.current
}

// matrix gives frames as rows of channels.
func matrix(x kernels.Tensor) kernels.Tensor { return x.Reshape(x.Len()/x.Dim(-1), x.Dim(-1)) }

// normalise is x / rms(x) * gamma over the channels, and SiLU of that where it is wanted.
func (p *vaePass) normalise(x, gamma, y kernels.Tensor, f kernels.Function) {
	const eps = 1e-8 // under the root; the originals keep the norm above 1e-12
	p.do(kernels.RMSNorm{X: matrix(x), Y: matrix(y), Gain: gamma, F: f, Eps: eps})
}

// causal runs a convolution over time, after norm and SiLU where there is a norm, from src to dst; the frames before are those of its
// cache, which then has the last ones of src.
func (p *vaePass) causal(c conv, norm *kernels.Tensor, src, residual kernels.Tensor, dst *buffer) {
	t, h, w, ch := src.Dim(0), src.Dim(1), src.Dim(2), src.Dim(3)
	before := c.w.Dim(1) - 1
	in, kept := p.take(p.padded, before+t, h, w, ch), p.cache(before, h, w, ch)
	p.do(kernels.Copy{X: kept, Y: in.Rows(0, before)})
	if norm != nil {
		p.normalise(src, *norm, in.Rows(before, before+t), kernels.SiLU)
	} else {
		p.do(kernels.Copy{X: src, Y: in.Rows(before, before+t)})
	}
	p.result = p.take(dst, t, h, w, c.w.Dim(0))
	p.do(kernels.Conv3D{X: in, W: c.w, Bias: c.b, Residual: residual, Y: p.result})
	p.do(kernels.Copy{X: in.Rows(t, before+t), Y: kept})
}

// plain runs a convolution of single frames.
func (p *vaePass) plain(c conv, src kernels.Tensor, dst *buffer) {
	p.result = p.take(dst, src.Dim(0), src.Dim(1), src.Dim(2), c.w.Dim(0))
	p.do(kernels.Conv3D{X: src, W: c.w, Bias: c.b, Y: p.result})
}

// doubleTime makes two frames of each; the very first frame stays one, and the convolution never sees it.
func (p *vaePass) doubleTime(c conv) {
	h, w, ch := p.x.Dim(1), p.x.Dim(2), p.x.Dim(3)
	const before = 2
	kept := p.cache(before, h, w, ch)
	single := 0
	if p.first {
		single = 1
	}
	n := p.x.Dim(0) - single
	if n == 0 {
		return
	}
	in := p.take(p.padded, before+n, h, w, ch)
	p.do(kernels.Copy{X: kept, Y: in.Rows(0, before)})
	p.do(kernels.Copy{X: p.x.Rows(single, single+n), Y: in.Rows(before, before+n)})
	both := p.take(p.hidden, n, h, w, 2*ch)
	p.do(kernels.Conv3D{X: in, W: c.w, Bias: c.b, Y: both})
	p.do(kernels.Copy{X: in.Rows(n, before+n), Y: kept})
	p.result = p.take(p.spare, single+2*n, h, w, ch)
	if p.first {
		p.do(kernels.Copy{X: p.x.Rows(0, 1), Y: p.result.Rows(0, 1)})
	}
	hw := h * w
	for half := range 2 { // the channels' halves are the two frames
		src := p.view(both, half*ch, []int{n, hw, ch}, []int{2 * hw * ch, 2 * ch, 1})
		dst := p.view(p.result, (single+half)*hw*ch, []int{n, hw, ch}, []int{2 * hw * ch, ch, 1})
		p.do(kernels.Copy{X: src, Y: dst})
	}
	p.swap()
}

// doubleSpace repeats every pixel and its row and runs the convolution.
func (p *vaePass) doubleSpace(c conv) {
	large := p.take(p.padded, p.x.Dim(0), 2*p.x.Dim(1), 2*p.x.Dim(2), p.x.Dim(3))
	p.do(kernels.Resize{X: p.x, Y: large})
	p.plain(c, large, p.spare)
	p.swap()
}

// halveSpace runs the convolution in steps of two, zeros beyond the right and the lower edge.
func (p *vaePass) halveSpace(c conv) {
	p.result = p.take(p.spare, p.x.Dim(0), p.x.Dim(1)/2, p.x.Dim(2)/2, c.w.Dim(0))
	p.do(kernels.Conv3D{X: p.x, W: c.w, Bias: c.b, Y: p.result, StrideS: 2})
	p.swap()
}

// halveTime makes one frame of two and the one before them; the very first frame stays.
func (p *vaePass) halveTime(c conv) {
	t, h, w, ch := p.x.Dim(0), p.x.Dim(1), p.x.Dim(2), p.x.Dim(3)
	kept := p.cache(1, h, w, ch)
	in, single := p.x, 0
	if p.first {
		single = 1
	} else {
		in = p.take(p.padded, 1+t, h, w, ch)
		p.do(kernels.Copy{X: kept, Y: in.Rows(0, 1)})
		p.do(kernels.Copy{X: p.x, Y: in.Rows(1, 1+t)})
	}
	n := (t - single) / 2
	p.result = p.take(p.spare, single+n, h, w, ch)
	if p.first {
		p.do(kernels.Copy{X: p.x.Rows(0, 1), Y: p.result.Rows(0, 1)})
	}
	if n > 0 {
		p.do(kernels.Conv3D{X: in, W: c.w, Bias: c.b, Y: p.result.Rows(single, single+n), StrideT: 2})
	}
	p.do(kernels.Copy{X: p.x.Rows(t-1, t), Y: kept})
	p.swap()
}

func (a attention) run(p *vaePass) {
	n := p.x.Dim(3)
	all, positions := p.x.Len()/n, p.x.Dim(1)*p.x.Dim(2)
	keys := filled(positions)
	p.work.positions = positions
	more := all + keys - positions // rows, so that the last frame has as many
	in, q, k := p.take(p.padded, more, n), p.take(p.hidden, all, n), p.take(p.spare, more, n)
	p.normalise(p.x, a.norm, in.Rows(0, all), kernels.Identity)
	if more > all { // by the first row again and again: any numbers will do
		p.do(kernels.Copy{X: p.view(in, 0, []int{more - all, n}, []int{0, 1}), Y: in.Rows(all, more)})
	}
	p.do(kernels.Gemm{A: in.Rows(0, all), B: a.q.w, Bias: a.q.b, D: q})
	p.do(kernels.Gemm{A: in, B: a.k.w, Bias: a.k.b, D: k})
	values, scores := p.take(p.values, n, keys), p.take(p.scores, positions, keys)
	for f := range p.x.Dim(0) {
		from, to := f*positions, (f+1)*positions
		p.do(kernels.Gemm{A: a.v.w, B: in.Rows(from, from+keys), D: values}) // turned round; the bias comes behind, for probabilities sum to 1
		p.do(kernels.Gemm{A: q.Rows(from, to), B: k.Rows(from, from+keys), Bias: p.work.hiding, D: scores})
		p.do(kernels.Softmax{X: scores, Y: scores, Factor: float32(1 / math.Sqrt(float64(n)))})
		p.do(kernels.Gemm{A: scores, B: values, Bias: a.v.b, D: q.Rows(from, to)})
	}
	p.result = p.take(p.spare, p.x.Shape...)
	p.do(kernels.Gemm{A: q, B: a.proj.w, Bias: a.proj.b, Residual: matrix(p.x), D: matrix(p.result)})
	p.swap()
}
