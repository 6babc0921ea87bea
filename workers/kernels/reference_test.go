package kernels_test

import (
	"math"
	"testing"

	"telefuser/workers/kernels"
)

// tensor makes a reference tensor of the values.
func tensor(d kernels.DType, values []float64, shape ...int) kernels.Tensor {
	t := kernels.Layout(d, shape...)
	t.Host = make([]byte, t.Span())
	for i, v := range values {
		t.Set(i, v)
	}
	return t
}

func repeat(n int, f func(i int) float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = f(i)
	}
	return v
}

func near(t *testing.T, what string, got, want, bound float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > bound {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func do(t *testing.T, op kernels.Op) {
	t.Helper()
	if err := (kernels.Reference{}).Run(op); err != nil {
		t.Fatal(err)
	}
}

// The reference is what CUDA is compared with; these are answers known without it.

func TestLayerNormOfARamp(t *testing.T) {
	x := tensor(kernels.F32, repeat(8, func(i int) float64 { return float64(i) }), 1, 8) // mean 3.5, variance 5.25
	y := tensor(kernels.BF16, nil, 1, 8)
	do(t, kernels.LayerNorm{X: x, Y: y, Gain: tensor(kernels.F32, repeat(8, func(int) float64 { return 1 }), 8), PlusOne: true, Shift: tensor(kernels.F32, repeat(8, func(int) float64 { return 10 }), 8)})
	near(t, "first", y.Get(0), 10-2*3.5/math.Sqrt(5.25), 0.03)
	near(t, "last", y.Get(7), 10+2*3.5/math.Sqrt(5.25), 0.06)
}

func TestRoPETurnsPairsByPosition(t *testing.T) {
	axes := kernels.Axes{Frame: 22, Row: 21, Column: 21}
	x := tensor(kernels.BF16, repeat(6*128, func(i int) float64 { return float64(1 - i%2) }), 6, 128) // pairs (1, 0)
	y := tensor(kernels.BF16, nil, 6, 128)
	w := tensor(kernels.F32, repeat(128, func(int) float64 { return 1 }), 128)
	do(t, kernels.RMSNormRoPE{X: x, Y: y, Weight: w, Table: kernels.RoPETable(16, axes), State: tensor(kernels.I32, []float64{4, 0, 0, 1}, 4), GridH: 1, GridW: 3, Axes: axes, Factor: 1})
	// Token 5 stands at frame 4 + 1, row 0, column 2; rms of its row is sqrt(1/2).
	r := math.Sqrt2
	at := func(pair int) (float64, float64) { return y.Get(5*128 + 2*pair), y.Get(5*128 + 2*pair + 1) }
	a, b := at(0)
	near(t, "frame cos", a, r*math.Cos(5), 0.01)
	near(t, "frame sin", b, r*math.Sin(5), 0.01)
	a, b = at(22)
	near(t, "row cos", a, r, 0.01)
	near(t, "row sin", b, 0, 0.01)
	a, b = at(44)
	near(t, "second column pair cos", a, r*math.Cos(2/math.Pow(10000, 1.0/21)), 0.01)
	near(t, "second column pair sin", b, r*math.Sin(2/math.Pow(10000, 1.0/21)), 0.01)
}

func TestGemmOfSmallIntegers(t *testing.T) {
	a := tensor(kernels.BF16, repeat(2*16, func(i int) float64 { return float64(i % 3) }), 2, 16)
	b := tensor(kernels.BF16, repeat(16*16, func(i int) float64 { return float64(i/16 + i%2) }), 16, 16)
	d := tensor(kernels.F32, nil, 2, 16)
	do(t, kernels.Gemm{A: a, B: b, D: d})
	var want float64
	for k := range 16 {
		want += float64((16 + k) % 3 * (5 + k%2))
	}
	near(t, "row 1, column 5", d.Get(16+5), want, 0)
}

func TestAttentionOverEqualKeysIsTheMean(t *testing.T) {
	one := func(int) float64 { return 0.5 }
	q, k := tensor(kernels.BF16, repeat(128, one), 1, 128), tensor(kernels.BF16, repeat(4*128, one), 4, 128)
	v := tensor(kernels.BF16, repeat(4*128, func(i int) float64 { return float64(i / 128) }), 4, 128)
	o := tensor(kernels.BF16, nil, 1, 128)
	do(t, kernels.Attention{Q: q, K: k, V: v, O: o, Keys: 3, Scale: 1, ValueScale: 2})
	near(t, "mean of 0, 1, 2, doubled", o.Get(17), 2, 0.01)
}

func TestAttentionReadsWhatStoreValuesWrites(t *testing.T) {
	values := repeat(32*128, func(i int) float64 { return float64(i/128) - 16 })
	v := tensor(kernels.E4M3, nil, 128, 32)
	do(t, kernels.StoreValues{X: tensor(kernels.BF16, values, 32, 128), State: tensor(kernels.I32, []float64{0, 0, 0, 32}, 4), Y: v, Factor: 1})
	k := tensor(kernels.E4M3, repeat(32*128, func(i int) float64 { // key 21 alone looks like the query
		if i/128 == 21 {
			return 8
		}
		return -8
	}), 32, 128)
	o := tensor(kernels.BF16, nil, 1, 128)
	do(t, kernels.Attention{Q: tensor(kernels.E4M3, repeat(128, func(int) float64 { return 1 }), 1, 128), K: k, V: v, O: o, Keys: 32, Scale: 1, ValueScale: 1})
	near(t, "value of key 21", o.Get(64), 5, 0.01)
}

func TestI420OfPrimaries(t *testing.T) {
	// BT.709, limited range: white, black, red.
	for _, c := range []struct{ r, g, b, y, u, v float64 }{
		{255, 255, 255, 235, 128, 128}, {0, 0, 0, 16, 128, 128}, {255, 0, 0, 63, 102, 240}, {0, 0, 255, 32, 240, 118},
	} {
		x := tensor(kernels.U8, repeat(12, func(i int) float64 { return []float64{c.r, c.g, c.b}[i%3] }), 1, 2, 2, 3)
		y := tensor(kernels.U8, nil, 1, 6)
		do(t, kernels.I420{X: x, Y: y})
		near(t, "Y", y.Get(3), c.y, 0)
		near(t, "U", y.Get(4), c.u, 0)
		near(t, "V", y.Get(5), c.v, 0)
	}
}

func TestConv3DIsCausalInTime(t *testing.T) {
	x := tensor(kernels.BF16, repeat(4*8, func(i int) float64 { return float64(i / 8) }), 4, 1, 1, 8) // frame f holds f
	w := tensor(kernels.BF16, repeat(8*3*8, func(i int) float64 { return map[int]float64{0: 100, 1: 10, 2: 1}[i/8%3] / 8 }), 8, 3, 1, 1, 8)
	y := tensor(kernels.BF16, nil, 4, 1, 1, 8)
	do(t, kernels.Conv3D{X: x, W: w, Bias: tensor(kernels.BF16, nil, 8), Y: y, PadT: 2})
	for f, want := range []float64{0, 1, 12, 123} {
		near(t, "frame", y.Get(f*8), want, want/200)
	}
}

func TestResizeHalvesByMeans(t *testing.T) {
	x := tensor(kernels.F32, []float64{1, 3, 5, 7}, 1, 1, 4, 1)
	y := tensor(kernels.F32, nil, 1, 1, 2, 1)
	do(t, kernels.Resize{X: x, Y: y, Bilinear: true})
	near(t, "left", y.Get(0), 2, 0)
	near(t, "right", y.Get(1), 6, 0)
}

func TestKeyOrderIsThatOfTheAccumulators(t *testing.T) {
	// A thread holds columns 0, 1 and 8, 9 of every 16 scores side by side, its neighbour 2, 3 and 10, 11.
	want := []int{0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15}
	for k := range 32 {
		if got := kernels.KeyOrder(k); got != want[k%16] {
			t.Errorf("key %d is at %d, want %d", k, got, want[k%16])
		}
	}
}

func TestGemmEpilogueInOrder(t *testing.T) {
	one := func(int) float64 { return 1 }
	ramp := func(i int) float64 { return float64(i) }
	op := kernels.Gemm{
		A: tensor(kernels.E4M3, repeat(2*16, one), 2, 16), B: tensor(kernels.E4M3, repeat(16*16, one), 16, 16), D: tensor(kernels.F32, nil, 2, 16),
		ScaleA: tensor(kernels.F32, []float64{1, 0.5}, 2), ScaleB: tensor(kernels.F32, repeat(16, ramp), 16), Bias: tensor(kernels.BF16, repeat(16, one), 16),
		Gate: tensor(kernels.F32, repeat(16, func(i int) float64 { return float64(i) - 3 }), 16), Residual: tensor(kernels.F32, repeat(2*16, ramp), 2, 16), F: kernels.SiLU,
	}
	do(t, op)
	for j := range 16 {
		v := 16*0.5*float64(j) + 1
		near(t, "row 1", op.D.Get(16+j), v/(1+math.Exp(-v))*(float64(j)-3)+float64(16+j), 1e-4)
	}
}
