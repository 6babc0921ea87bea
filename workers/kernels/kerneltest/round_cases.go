package kerneltest

import "telefuser/workers/kernels"

// roundCases are for kernels whose blocks stay: more rows than a GPU holds at once, so that every buffer that takes turns is used
// again, and rows that their shortcuts must not take.
func roundCases() []Case {
	const t, d, heads = 2300, 2600, 21
	axes := kernels.Axes{Frame: 22, Row: 21, Column: 21}
	norm := func(s *Side, y kernels.DType, b Bound, deviation, gain float64) kernels.Op {
		o := kernels.LayerNorm{X: s.Strided(bf16, deviation, t, d, d+8), Y: s.Out(b, y, d+16, t, d), Gain: s.Normal(f32, gain, d), Shift: s.Normal(f32, gain, d), Eps: 1e-6}
		if y == e4m3 {
			o.Scale = s.Dense(RoundF32, f32, t)
		}
		return o
	}
	rope := func(s *Side, y kernels.Tensor, ring bool, state ...int) kernels.Op {
		const w = heads * kernels.HeadDim
		return kernels.RMSNormRoPE{X: s.Strided(bf16, 2, t, w, 3*w), Weight: s.Normal(f32, 1, w), Table: s.Table(64, axes), State: s.Integers(state...), Y: y,
			InRing: ring, GridH: 9, GridW: 17, Axes: axes, Eps: 1e-6, Factor: 1}
	}
	const w, slots = heads * kernels.HeadDim, 2600
	return []Case{
		{Name: "rounds/layernorm", Heavy: true, Build: func(s *Side) kernels.Op { return norm(s, bf16, RoundBF16, 3, 1) }},
		{Name: "rounds/layernorm/e4m3", Heavy: true, Build: func(s *Side) kernels.Op { return norm(s, e4m3, RoundE4M3, 3, 1) }},
		{Name: "rounds/softmax", Heavy: true, Build: func(s *Side) kernels.Op {
			return kernels.Softmax{X: s.Strided(bf16, 4, t, d, d+8), Y: s.Out(RoundBF16, bf16, d+8, t, d), Factor: -0.7}
		}},
		{Name: "rounds/rope", Heavy: true, Build: func(s *Side) kernels.Op { return rope(s, s.Dense(RoundBF16, bf16, t, w), false, 5, 0, 0, 1) }},
		{Name: "rounds/rope/ring", Heavy: true, Build: func(s *Side) kernels.Op {
			return rope(s, s.Partial(s.Dense(RoundE4M3, e4m3, slots, w)), true, 2, 1040, 16, slots)
		}},
		{Name: "rounds/values", Heavy: true, Build: func(s *Side) kernels.Op {
			return kernels.StoreValues{X: s.Strided(bf16, 2, t, w, 3*w), State: s.Integers(2, 1040, 16, 2608), Y: s.Partial(s.Dense(RoundE4M3, e4m3, w, 2624)), Factor: 0.5}
		}},
		{Name: "far/layernorm/f32", Build: func(s *Side) kernels.Op {
			return kernels.LayerNorm{X: s.Far(f32, 100, 5, 5000), Y: s.Dense(RoundBF16, bf16, 5, 5000), Eps: 1e-6}
		}},
		{Name: "far/layernorm", Build: func(s *Side) kernels.Op {
			return kernels.LayerNorm{X: s.Far(bf16, 100, 5, 5000), Y: s.Dense(RoundBF16, bf16, 5, 5000), Eps: 1e-6}
		}},
		{Name: "far/layernorm/e4m3", Build: func(s *Side) kernels.Op {
			return kernels.LayerNorm{X: s.Far(bf16, 100, 5, 5000), Y: s.Dense(RoundE4M3, e4m3, 5, 5000), Scale: s.Dense(RoundF32, f32, 5), Eps: 1e-6}
		}},
		{Name: "far/layernorm/huge", Build: func(s *Side) kernels.Op { return few(s, 1e6) }},
		{Name: "far/layernorm/tiny", Build: func(s *Side) kernels.Op { return few(s, 1e-5) }},
	}
}

// few rows of a LayerNorm to e4m3 whose outputs are about as large as the gain.
func few(s *Side, gain float64) kernels.Op {
	const t, d = 5, 5000
	return kernels.LayerNorm{X: s.Normal(bf16, 1, t, d), Y: s.Dense(RoundE4M3, e4m3, t, d), Gain: s.Normal(f32, gain, d), Scale: s.Dense(RoundF32, f32, t), Eps: 1e-6}
}
