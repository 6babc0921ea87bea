package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/kernels/simd"
)

// shapes draws operations of small random shapes; the same source gives the same ones on every backend.
type shapes struct {
	*rand.Rand
	tb testing.TB
	b  kernels.Backend
}

func (s shapes) between(low, high int) int { return low + s.IntN(high-low+1) }

func (s shapes) tensor(t kernels.DType, shape ...int) kernels.Tensor {
	x, err := s.b.New(t, shape...)
	if err != nil {
		s.tb.Fatal(err)
	}
	for i := range x.Len() {
		x.Set(i, s.NormFloat64())
	}
	return x
}

func (s shapes) kind() kernels.DType { return []kernels.DType{kernels.F32, kernels.BF16}[s.IntN(2)] }

func (s shapes) gemm() (kernels.Op, kernels.Tensor) {
	t, m, n, k := s.kind(), s.between(1, 50), 16*s.between(1, 9), 16*s.between(1, 9)
	o := kernels.Gemm{A: s.tensor(t, m, k+16).Columns(0, k), B: s.tensor(t, n+1, k).Rows(1, n+1), D: s.tensor(s.kind(), m, n+16).Columns(0, n), F: kernels.Function(s.IntN(3))}
	if s.IntN(2) == 0 {
		o.Bias = s.tensor(t, n)
	}
	if s.IntN(2) == 0 {
		o.Gate = s.tensor(kernels.F32, n)
	}
	if s.IntN(2) == 0 {
		o.Residual = s.tensor(o.D.Type, m, n+8).Columns(0, n)
	}
	return o, o.D
}

func (s shapes) attention() (kernels.Op, kernels.Tensor) {
	t, q, keys, d := s.kind(), s.between(1, 40), s.between(1, 150), kernels.HeadDim*s.between(1, 3)
	o := kernels.Attention{Q: s.tensor(t, q, 2*d).Columns(d, 2*d), K: s.tensor(t, keys+3, d), V: s.tensor(t, keys+1, d+8).Columns(0, d), O: s.tensor(t, q, d),
		Keys: keys, Scale: float32(0.2 * s.Float64()), ValueScale: 1.5}
	return o, o.O
}

func (s shapes) conv() (kernels.Op, kernels.Tensor) {
	t, c, n := s.kind(), 8*s.between(1, 6), s.between(1, 70)
	kt, k, ss, st := s.between(1, 3), 1+2*s.IntN(2), s.between(1, 2), s.between(1, 2)
	frames, h, w, pad := s.between(kt, 5), s.between(1, 20), s.between(1, 20), s.between(0, kt) // kt: a frame that sees zeros alone
	to, ho, wo := (frames+pad-kt)/st+1, (h+ss-1)/ss, (w+ss-1)/ss
	o := kernels.Conv3D{X: s.tensor(t, frames, h, w, c), W: s.tensor(t, n, kt, k, k, c), Bias: s.tensor(t, n), Y: s.tensor(t, to, ho, wo, n), PadT: pad, StrideT: st, StrideS: ss}
	if s.IntN(2) == 0 {
		o.Residual = s.tensor(t, to, ho, wo, n)
	}
	return o, o.Y
}

func (s shapes) copies() (kernels.Op, kernels.Tensor) {
	from, to := s.kind(), s.kind()
	rank := s.between(1, 5)
	shape, wideX, wideY := make([]int, rank), make([]int, rank), make([]int, rank)
	for i := range rank {
		shape[i] = s.between(1, 4)
		wideX[i], wideY[i] = shape[i]+s.IntN(2), shape[i]+s.IntN(2)
	}
	x, y := s.tensor(from, wideX...), s.tensor(to, wideY...)
	whole := y
	x.Shape, y.Shape = shape, shape
	return kernels.Copy{X: x, Y: y}, whole
}

func (s shapes) norm() (kernels.Op, kernels.Tensor) {
	t, rows, d := s.kind(), s.between(1, 300), 8*s.between(1, 20)
	o := kernels.RMSNorm{X: s.tensor(t, rows, d+8).Columns(0, d), Y: s.tensor(s.kind(), rows, d), F: kernels.Function(s.IntN(3)), Eps: 1e-6}
	if s.IntN(2) == 0 {
		o.X = s.tensor(t, rows, d)
	}
	return o, o.Y
}

// TestRandomShapesAgreeWithTheReference holds every level to the reference at shapes that nobody chose.
func TestRandomShapesAgreeWithTheReference(t *testing.T) {
	const each = 25
	kinds := map[string]func(shapes) (kernels.Op, kernels.Tensor){"gemm": shapes.gemm, "attention": shapes.attention, "conv": shapes.conv, "copy": shapes.copies, "norm": shapes.norm}
	for name, draw := range kinds {
		for seed := range uint64(each) {
			source := func(b kernels.Backend) shapes { return shapes{rand.New(rand.NewPCG(seed, 5)), t, b} }
			op, want := draw(source(kernels.Reference{}))
			do(t, op)
			for _, l := range simd.Levels() {
				c := kernels.NewCPU(kernels.CPUOptions{Level: &l, Workers: 2, Eager: true})
				op, got := draw(source(c))
				if err := c.Run(op); err != nil {
					t.Fatal(err)
				}
				alike(t, fmt.Sprintf("%s %d at %v", name, seed, l), got, want)
			}
		}
	}
}

// alike compares whole spans, gaps included.
func alike(t *testing.T, what string, got, want kernels.Tensor) {
	t.Helper()
	bound := 1e-5
	if want.Type == kernels.BF16 {
		bound = 3e-3
	}
	var difference, size float64
	for i := range want.Span() / want.Type.Bytes() {
		g, w := got.Get(i), want.Get(i)
		difference, size = difference+(g-w)*(g-w), size+w*w
	}
	if e := math.Sqrt(difference / max(size, 1e-30)); !(e <= bound) {
		t.Errorf("%s: relative error %.3g", what, e)
	}
}
