package kernels

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Shapes of one layer of the world model that the service is built for: a chunk of four
// latent frames of 60 x 104, patches of 2 x 2, a window of 18 frames.
const (
	benchTokens = 6240
	benchKeys   = 28080
	benchHeads  = 40
	benchDim    = benchHeads * HeadDim
	benchFFN    = 13824
	benchText   = 512
)

type gemmShape struct {
	name string
	n, k int
	f    Function
}

// benchGemms are the products of one layer: six, of four kinds.
func benchGemms() []gemmShape {
	return []gemmShape{
		{"qkv", 3 * benchDim, benchDim, Identity}, {"self o", benchDim, benchDim, Identity}, {"cross q", benchDim, benchDim, Identity},
		{"cross o", benchDim, benchDim, Identity}, {"ffn up", benchFFN, benchDim, GELU}, {"ffn down", benchDim, benchFFN, Identity},
	}
}

func (b *bench) product(d DType, s gemmShape) (Gemm, error) { return b.productOf(d, s, benchTokens) }

// productOf makes a product of a layer for some of its tokens.
func (b *bench) productOf(d DType, s gemmShape, tokens int) (Gemm, error) {
	var errs [6]error
	o := Gemm{F: s.f}
	o.A, errs[0] = b.normal(d, 1, tokens, s.k)
	o.B, errs[1] = b.normal(d, 0.02, s.n, s.k)
	o.D, errs[2] = b.c.New(BF16, tokens, s.n)
	if d == E4M3 {
		o.ScaleA, errs[3] = b.ones(tokens, 0.01)
		o.ScaleB, errs[4] = b.ones(s.n, 0.01)
	}
	if s.f != Identity {
		o.Bias, errs[5] = b.normal(BF16, 0.1, s.n)
	}
	return o, errors.Join(errs[:]...)
}

// checkGemm compares 48 elements, the corners among them, with float64.
func (b *bench) checkGemm(o Gemm) (float64, error) {
	var r relative
	m, n := o.A.Dim(0), o.B.Dim(0)
	bias := o.Bias
	if !bias.Absent() {
		var err error
		if bias, err = b.fetch(o.Bias); err != nil {
			return 0, err
		}
	}
	for i := range 48 {
		row, col := i*7919%m, i*104729%n
		if i == 0 {
			row, col = m-1, n-1
		}
		x, err := b.fetch(o.A.Rows(row, row+1))
		if err != nil {
			return 0, err
		}
		w, err := b.fetch(o.B.Rows(col, col+1))
		if err != nil {
			return 0, err
		}
		d, err := b.fetch(o.D.Rows(row, row+1))
		if err != nil {
			return 0, err
		}
		var v float64
		for k := range o.A.Dim(1) {
			v += x.Get(k) * w.Get(k)
		}
		if o.A.Type == E4M3 {
			v *= 0.01 * 0.01
		}
		if !bias.Absent() {
			v += bias.Get(col)
		}
		r.add(d.Get(col), o.F.Apply(v))
	}
	return r.value(), nil
}

func (b *bench) gemms() error {
	for _, d := range []DType{BF16, E4M3} {
		if err := b.gemmsOf(d); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) gemmsOf(d DType) error {
	mark := b.c.Mark()
	var all []Gemm
	var flop float64
	seen := map[string]bool{}
	for _, s := range benchGemms() {
		o, err := b.product(d, s)
		if err != nil {
			return err
		}
		all = append(all, o)
		one := 2 * float64(benchTokens) * float64(s.n) * float64(s.k)
		flop += one
		shape := fmt.Sprintf("%dx%dx%d", benchTokens, s.n, s.k)
		if seen[shape] {
			continue
		}
		seen[shape] = true
		if err := b.c.Run(o); err != nil {
			return err
		}
		times, err := b.tune(o)
		if err != nil {
			return err
		}
		own, lt := bestOf(times, "own"), bestOf(times, "cublaslt")
		for _, t := range times {
			l := load{name: "gemm " + d.String() + " " + s.name, shape: shape, by: t.Name, flop: one}
			if t.Name == own || t.Name == lt {
				run := b.runner(o, t.Name)
				if err := run(); err != nil {
					return err
				}
				l.check = func() (float64, error) { return b.checkGemm(o) }
			}
			if err := b.add(l, "burst", t.Time); err != nil {
				return err
			}
		}
	}
	for _, by := range []string{"own", "cublaslt", "own", "cublaslt"} { // twice, so that a drift of the card shows
		if err := b.sustainedGemms(d, all, by, flop); err != nil {
			return err
		}
	}
	return b.c.Release(mark)
}

// tune times the implementations of a product once: at the power cap if loads are sustained.
func (b *bench) tune(o Gemm) ([]Timing, error) {
	if t, ok := b.tuned[o.key()]; ok {
		return t, nil
	}
	var t []Timing
	var err error
	if b.o.Sustain > 0 {
		const hold = 400 * time.Millisecond
		t, err = b.c.TuneHeld(o, hold)
	} else {
		t, err = b.c.Tune(o)
	}
	if b.tuned == nil {
		b.tuned = map[string][]Timing{}
	}
	b.tuned[o.key()] = t
	return t, err
}

// runner runs one implementation of a product.
func (b *bench) runner(o Gemm, name string) func() error {
	return func() error { return named(o.candidates(b.c), name) }
}

func bestOf(t []Timing, prefix string) string {
	for _, x := range t {
		if len(x.Name) >= len(prefix) && x.Name[:len(prefix)] == prefix {
			return x.Name
		}
	}
	return ""
}

func (b *bench) sustainedGemms(d DType, all []Gemm, by string, flop float64) error {
	var runs []func() error
	for _, o := range all {
		times, err := b.tune(o)
		if err != nil {
			return err
		}
		name := bestOf(times, by)
		if name == "" {
			return nil // cuBLASLt is not here
		}
		runs = append(runs, b.runner(o, name))
	}
	return b.sustained(load{name: "gemm " + d.String() + " six of a layer", shape: "M 6240", by: by, flop: flop, run: func() error {
		for _, r := range runs {
			if err := r(); err != nil {
				return err
			}
		}
		return nil
	}})
}

func (b *bench) attention(d DType, queries, keys, heads int) (Attention, error) {
	var errs [4]error
	o := Attention{Keys: keys, Scale: float32(1 / math.Sqrt(HeadDim)), ValueScale: 1}
	o.Q, errs[0] = b.normal(d, 1, queries, heads*HeadDim)
	o.K, errs[1] = b.normal(d, 1, keys, heads*HeadDim)
	if d == E4M3 {
		o.V, errs[2] = b.normal(d, 1, heads*HeadDim, keys)
		o.Scale /= 120 * 120 // the quantised numbers have a deviation of about 120
		o.ValueScale = 1.0 / 120
	} else {
		o.V, errs[2] = b.normal(d, 1, keys, heads*HeadDim)
	}
	o.O, errs[3] = b.c.New(BF16, queries, heads*HeadDim)
	return o, errors.Join(errs[:]...)
}

// checkAttention compares three queries of the last head with float64.
func (b *bench) checkAttention(o Attention) (float64, error) {
	var r relative
	h := o.Heads() - 1
	head := func(t Tensor) (Tensor, error) { return b.fetch(t.Columns(h*HeadDim, (h+1)*HeadDim)) }
	k, err := head(o.K)
	if err != nil {
		return 0, err
	}
	v := o.V
	if v.Type == E4M3 {
		v, err = b.fetch(v.Rows(h*HeadDim, (h+1)*HeadDim))
	} else {
		v, err = head(v)
	}
	if err != nil {
		return 0, err
	}
	for _, q := range []int{0, o.Q.Dim(0) / 2, o.Q.Dim(0) - 1} {
		x, err := head(o.Q.Rows(q, q+1))
		if err != nil {
			return 0, err
		}
		got, err := head(o.O.Rows(q, q+1))
		if err != nil {
			return 0, err
		}
		want := Layout(F32, 1, HeadDim)
		want.Host = make([]byte, want.Span())
		Attention{Q: x, K: k, V: v, O: want, Keys: o.Keys, Scale: o.Scale, ValueScale: o.ValueScale}.reference()
		for e := range HeadDim {
			r.add(got.Get(e), want.Get(e))
		}
	}
	return r.value(), nil
}

func (b *bench) attentions(d DType) error {
	for _, z := range [][3]int{{benchTokens, benchKeys, benchHeads}, {benchTokens, benchText, benchHeads}, {benchTokens, benchKeys, benchHeads / 2}} {
		mark := b.c.Mark()
		o, err := b.attention(d, z[0], z[1], z[2])
		if err != nil {
			return err
		}
		all := o.candidates(b.c)
		if b.c.dnn != nil && b.c.dnn.attends(b.c, o) {
			all = append(all, candidate{"cudnn", func() error { return b.c.dnn.attend(b.c, o) }})
		}
		for _, k := range all {
			l := load{name: "attention " + d.String(), shape: fmt.Sprintf("%d x %d, %d heads", z[0], z[1], z[2]), by: k.name,
				flop: 4 * float64(z[0]) * float64(z[1]) * float64(z[2]) * HeadDim, run: k.run,
				check: func() (float64, error) { return b.checkAttention(o) }}
			if err := b.burst(l); err != nil {
				return err
			}
			if z[1] == benchKeys && z[2] == benchHeads {
				if err := b.sustained(l); err != nil {
					return err
				}
			}
		}
		if _, err := b.c.Tune(o); err != nil {
			return err
		}
		if err := b.c.Release(mark); err != nil {
			return err
		}
	}
	return nil
}

// layers measures a layer's products and attention together, by the fastest of each.
func (b *bench) layers() error {
	if b.o.Sustain == 0 {
		return nil
	}
	for _, d := range []DType{BF16, E4M3} {
		mark := b.c.Mark()
		flop := 4 * float64(benchTokens) * benchKeys * benchDim
		var ops []Op
		for _, s := range benchGemms() {
			o, err := b.product(d, s)
			if err != nil {
				return err
			}
			if b.c.choices.Best(o.key()) == "" {
				if _, err := b.c.Tune(o); err != nil {
					return err
				}
			}
			ops = append(ops, o)
			flop += 2 * float64(benchTokens) * float64(s.n) * float64(s.k)
		}
		a, err := b.attention(d, benchTokens, benchKeys, benchHeads)
		if err != nil {
			return err
		}
		if b.c.choices.Best(a.key()) == "" {
			if _, err := b.c.Tune(a); err != nil {
				return err
			}
		}
		ops = append(ops, a)
		l := load{name: "layer " + d.String(), shape: "6 products + attention", by: "chosen", flop: flop, run: func() error {
			for _, o := range ops {
				if err := b.c.Run(o); err != nil {
					return err
				}
			}
			return nil
		}}
		if err := errors.Join(b.sustained(l), b.c.Release(mark)); err != nil {
			return err
		}
	}
	return nil
}
