package umt5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"telefuser/workers/kernels"
)

// workspace is the memory for texts of n tokens, a multiple of 16.
type workspace struct {
	n                   int
	x                   kernels.Tensor // [n, dim] f32: the sum of all layers
	a                   kernels.Tensor // [n, dim]: normed
	q, k, o             kernels.Tensor // [n, heads * head dim]
	v                   kernels.Tensor // [heads * head dim, n]: turned
	gate, up            kernels.Tensor // [n, ffn]
	scores, bias, probs kernels.Tensor // [n, n] of one head; probs is scores where types are alike
	hostBias            []float32
	hostBytes           []byte
}

// workspace gives memory for n tokens: a part of what the longest text needs.
func (e *Encoder) workspace(n int) (*workspace, error) {
	if e.work.n == 0 {
		if err := e.reserve(); err != nil {
			return nil, err
		}
	}
	inner := e.config.Heads * e.config.HeadDim
	part := e.work
	part.n = n
	for _, x := range []*kernels.Tensor{&part.x, &part.a, &part.q, &part.k, &part.o, &part.gate, &part.up} {
		*x = x.Rows(0, n)
	}
	flat := func(x kernels.Tensor, rows, columns int) kernels.Tensor {
		return x.Reshape(x.Len()).Rows(0, rows*columns).Reshape(rows, columns)
	}
	part.v = flat(part.v, inner, n)
	part.scores, part.bias, part.probs = flat(part.scores, n, n), flat(part.bias, n, n), flat(part.probs, n, n)
	return &part, nil
}

// reserve takes memory for the longest text.
func (e *Encoder) reserve() error {
	c, t := e.config, e.options.Type
	n := roundUp(e.options.TokensMax)
	inner := c.Heads * c.HeadDim
	var all []error
	take := func(t kernels.DType, shape ...int) kernels.Tensor {
		x, err := e.backend.New(t, shape...)
		all = append(all, err)
		return x
	}
	e.work = workspace{
		n: n, x: take(kernels.F32, n, c.Dim), a: take(t, n, c.Dim), q: take(t, n, inner), k: take(t, n, inner), o: take(t, n, inner),
		v: take(t, inner, n), gate: take(t, n, c.FFN), up: take(t, n, c.FFN), scores: take(kernels.F32, n, n), bias: take(kernels.F32, n, n),
		hostBias: make([]float32, n*n), hostBytes: make([]byte, 4*n*n),
	}
	e.work.probs = e.work.scores
	if t != kernels.F32 {
		e.work.probs = take(t, n, n)
	}
	return errors.Join(all...)
}

// block adds one layer to the sum.
func (e *Encoder) block(w *workspace, l layer, i, length int) error {
	table, err := e.set.Floats(fmt.Sprintf("blocks.%d.pos_embedding.embedding.weight", i))
	if err != nil {
		return err
	}
	eps := float32(e.config.Eps)
	r := runner{backend: e.backend}
	r.run(kernels.RMSNorm{X: w.x, Y: w.a, Gain: l.norm1, Eps: eps})
	r.run(kernels.Gemm{A: w.a, B: l.q, D: w.q})
	r.run(kernels.Gemm{A: w.a, B: l.k, D: w.k})
	r.run(kernels.Gemm{A: l.v, B: w.a, D: w.v}) // turned, as the last product wants it
	for h := range e.config.Heads {
		if err := e.writeBias(w, table, h, length); err != nil {
			return err
		}
		from, to := h*e.config.HeadDim, (h+1)*e.config.HeadDim
		r.run(kernels.Gemm{A: w.q.Columns(from, to), B: w.k.Columns(from, to), D: w.scores, Residual: w.bias})
		r.run(kernels.Softmax{X: w.scores, Y: w.scores, Factor: 1})
		if w.probs.Type != w.scores.Type {
			r.run(kernels.Copy{X: w.scores, Y: w.probs})
		}
		r.run(kernels.Gemm{A: w.probs, B: w.v.Rows(from, to), D: w.o.Columns(from, to)})
	}
	r.run(kernels.Gemm{A: w.o, B: l.o, D: w.x, Residual: w.x})
	r.run(kernels.RMSNorm{X: w.x, Y: w.a, Gain: l.norm2, Eps: eps})
	r.run(kernels.Gemm{A: w.a, B: l.gate, D: w.gate, F: kernels.GELU})
	r.run(kernels.Gemm{A: w.a, B: l.up, D: w.up})
	r.run(kernels.Multiply{X: w.gate, Y: w.up})
	r.run(kernels.Gemm{A: w.gate, B: l.down, D: w.x, Residual: w.x})
	return r.err
}

// writeBias brings one head's biases to the backend.
func (e *Encoder) writeBias(w *workspace, table []float32, head, length int) error {
	n := w.n
	e.biases(w.hostBias[:n*n], table, head, n, length)
	for i, v := range w.hostBias[:n*n] {
		binary.LittleEndian.PutUint32(w.hostBytes[4*i:], math.Float32bits(v))
	}
	return e.backend.Write(w.bias, w.hostBytes[:4*n*n])
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
