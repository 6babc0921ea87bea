package clip

import (
	"math"

	"telefuser/workers/kernels"
)

// embed makes tokens of the patches, each at its place, and norms them.
func (e *Encoder) embed(r *runner) {
	w, n := e.work, e.config.Tokens()
	r.run(kernels.Copy{X: e.places.Rows(0, 1), Y: w.x.Rows(0, 1)})
	r.run(kernels.Gemm{A: w.pixels, B: e.patches, Residual: e.places.Rows(1, n), D: w.x.Rows(1, n)})
	e.normed(r, e.norm)
	r.run(kernels.Copy{X: w.a, Y: w.x})
}

// normed brings the norm of x to a.
func (e *Encoder) normed(r *runner, by norm) {
	r.run(kernels.LayerNorm{X: e.work.x, Y: e.work.a, Gain: by.gain, Shift: by.shift, Eps: float32(e.config.Eps)})
}

// block adds one layer to the sum.
func (e *Encoder) block(r *runner, l *layer) {
	c, w, inner := e.config, e.work, e.config.Heads*kernels.HeadDim
	e.normed(r, l.norm1)
	r.run(kernels.Gemm{A: w.a, B: l.qkv.w, Bias: l.qkv.b, D: w.qkv})
	r.run(kernels.Attention{
		Q: w.qkv.Columns(0, inner), K: w.qkv.Columns(inner, 2*inner), V: w.qkv.Columns(2*inner, 3*inner), O: w.o,
		Keys: c.Tokens(), Scale: float32(1 / math.Sqrt(float64(c.Dim/c.Heads))), ValueScale: 1,
	})
	r.run(kernels.Gemm{A: w.o, B: l.out.w, Bias: l.out.b, Residual: w.x, D: w.x})
	e.normed(r, l.norm2)
	r.run(kernels.Gemm{A: w.a, B: l.up.w, Bias: l.up.b, D: w.wide})
	r.run(kernels.Activation{X: w.wide, Y: w.wide, F: kernels.ExactGELU})
	r.run(kernels.Gemm{A: w.wide, B: l.down.w, Bias: l.down.b, Residual: w.x, D: w.x})
}

// runner runs operations one after the other. The first error stays, and nothing is run after it.
type runner struct {
	backend kernels.Backend
	err     error
}

func (r *runner) run(op kernels.Op) {
	if r.err == nil {
		r.err = r.backend.Run(op)
	}
}

// write brings numbers to a tensor.
func (r *runner) write(x kernels.Tensor, v []float32) {
	if r.err == nil {
		r.err = r.backend.Write(x, encode(x.Type, v))
	}
}

// section runs many operations where each costs least.
func (r *runner) section(operations func()) {
	if r.err == nil {
		r.err = kernels.Section(r.backend, func() error {
			operations()
			return r.err
		})
	}
}
