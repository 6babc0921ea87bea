package kernels

import "errors"

// rowKernels measures the element-wise kernels at the model's shapes by the bytes that they must move.
func (b *bench) rowKernels() error {
	const t, d, slots = benchTokens, benchDim, benchKeys
	axes := Axes{Frame: 22, Row: 21, Column: 21}
	var errs [14]error
	var x, r, y, q, qkv, k, v8, scale, gain, shift, s, wide, wide2, state Tensor
	x, errs[0] = b.normal(BF16, 1, t, d)
	r, errs[1] = b.normal(F32, 1, t, d)
	y, errs[2] = b.c.New(BF16, t, d)
	q, errs[3] = b.c.New(E4M3, t, d)
	qkv, errs[4] = b.normal(BF16, 1, t, 3*d)
	k, errs[5] = b.c.New(BF16, slots, d)
	v8, errs[6] = b.c.New(E4M3, d, slots)
	scale, errs[7] = b.c.New(F32, t)
	gain, errs[8] = b.normal(F32, 0.1, d)
	shift, errs[9] = b.normal(F32, 0.1, d)
	s, errs[10] = b.normal(BF16, 0.1, t, d)
	wide, errs[11] = b.normal(BF16, 1, t, benchFFN)
	wide2, errs[12] = b.c.New(E4M3, t, benchFFN)
	state, errs[13] = b.c.New(I32, 4)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	table := RoPETable(128, axes)
	dev, err := b.c.New(F32, table.Shape...)
	if err != nil {
		return err
	}
	ring := Layout(I32, 4)
	ring.Host = make([]byte, ring.Span())
	for i, n := range []int{40, 9360 + 64, 9360, slots} {
		ring.Set(i, float64(n))
	}
	if err := errors.Join(b.c.Write(dev, table.Host), b.c.Write(state, ring.Host)); err != nil {
		return err
	}
	const n = float64(t * d)
	rope := RMSNormRoPE{X: qkv.Columns(d, 2*d), Weight: gain, Table: dev, State: state, GridH: 30, GridW: 52, Axes: axes, Eps: 1e-6, Factor: 1}
	ropeK, ropeQ := rope, rope
	ropeK.Y, ropeK.InRing = k, true
	ropeQ.X, ropeQ.Y = qkv.Columns(0, d), q
	return b.rowLoads(x, y, []rowLoad{
		{"copy of the same size", 4 * n, nil},
		{"layernorm+modulate", 4 * n, LayerNorm{X: x, Y: y, Gain: gain, Shift: shift, PlusOne: true, Eps: 1e-6}},
		{"layernorm+modulate f32", 6 * n, LayerNorm{X: r, Y: y, Gain: gain, Shift: shift, PlusOne: true, Eps: 1e-6}},
		{"layernorm+modulate+e4m3", 3 * n, LayerNorm{X: x, Y: q, Scale: scale, Gain: gain, Shift: shift, PlusOne: true, Eps: 1e-6}},
		{"rmsnorm+rope+cache", 4 * n, ropeK},
		{"rmsnorm+rope to e4m3", 3 * n, ropeQ},
		{"values into the cache", 4 * n, StoreValues{X: qkv.Columns(2*d, 3*d), State: state, Y: k, Factor: 1}},
		{"values into e4m3 cache", 3 * n, StoreValues{X: qkv.Columns(2*d, 3*d), State: state, Y: v8, Factor: 1}},
		{"gate+residual", 6 * n, GateResidual{X: x, Y: s, Gate: gain}},
		{"gate+residual f32", 10 * n, GateResidual{X: r, Y: s, Gate: gain}},
		{"scale+shift", 8 * n, ScaleShift{X: x, S: s, T: y}},
		{"gelu", 4 * float64(t*benchFFN), Activation{X: wide, Y: wide, F: GELU}},
		{"quantise", 3 * n, Quantise{X: x, Y: q, Scale: scale}},
		{"quantise ffn", 3 * float64(t*benchFFN), Quantise{X: wide, Y: wide2, Scale: scale}},
		{"dequantise", 3 * n, Dequantise{X: q, Scale: scale, Y: y}},
		{"noise f32", 4 * n, Noise{Y: r, Seed: 1, Sigma: 1}},
		{"softmax", 4 * n, Softmax{X: x, Y: y, Factor: 1}},
	})
}

// rowLoad is a kernel and the bytes that it must move; no operation: the driver's copy.
type rowLoad struct {
	name  string
	bytes float64
	op    Op
}

func (b *bench) rowLoads(x, y Tensor, all []rowLoad) error {
	for _, m := range all {
		l := load{name: m.name, shape: "6240 tokens", by: "own", bytes: m.bytes, run: func() error { return b.c.Run(m.op) }}
		if m.op == nil {
			l.by, l.run = "driver", func() error { return b.c.stream.Copy(y.Dev, x.Dev, int64(x.Span())) }
		}
		if err := errors.Join(b.burst(l), b.inGraph(l)); err != nil {
			return err
		}
	}
	return nil
}
