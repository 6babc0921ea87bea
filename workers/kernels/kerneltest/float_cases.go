package kerneltest

import (
	"fmt"

	"telefuser/workers/kernels"
)

// floatCases are operations of float32, which GPUs have no kernels for, and the RMS norm.
func floatCases(quick bool) []Case {
	all := floatRows(quick)
	axes := kernels.Axes{Frame: 22, Row: 21, Column: 21}
	const d = 2 * kernels.HeadDim
	all = append(all, Case{Name: "rope/ring/f32", Build: func(s *Side) kernels.Op {
		return kernels.RMSNormRoPE{X: s.Strided(f32, 2, 50, d, 3*d), Weight: s.Normal(f32, 1, d), Table: s.Table(64, axes), State: s.Integers(2, 48, 16, 80),
			Y: s.Partial(s.Dense(RoundF32, f32, 96, d)), InRing: true, GridH: 3, GridW: 7, Axes: axes, Eps: 1e-6, Factor: 0.5}
	}}, Case{Name: "values/f32", Build: func(s *Side) kernels.Op {
		return kernels.StoreValues{X: s.Strided(f32, 2, 50, d, 3*d), State: s.Integers(2, 48, 16, 80), Y: s.Partial(s.Dense(RoundF32, f32, 96, d)), Factor: 0.5}
	}})
	for _, z := range [][2]int{{1, 1}, {30, 8}, {25, 203}} {
		q, k := z[0], z[1]
		all = append(all, Case{Name: fmt.Sprintf("attention/f32/%dx%d", q, k), Build: func(s *Side) kernels.Op {
			return kernels.Attention{Q: s.Strided(f32, 1, q, d, 3*d), K: s.Normal(f32, 1, k+8, d), V: s.Normal(f32, 1, k+8, d), O: s.Out(RoundF32, f32, d+8, q, d),
				Keys: k, Scale: 0.1, ValueScale: 1}
		}}, Case{Name: fmt.Sprintf("attention/few/%dx%d", q, k), Build: func(s *Side) kernels.Op {
			return kernels.Attention{Q: s.Normal(bf16, 1, q, d), K: s.Normal(bf16, 1, k, d), V: s.Normal(bf16, 1, k, d), O: s.Out(RoundBF16, bf16, d+8, q, d),
				Keys: k, Scale: 0.1, ValueScale: 1}
		}})
	}
	for _, z := range [][3]int{{1, 16, 16}, {3, 1008, 256}, {13, 48, 176}, {61, 272, 144}} {
		m, n, k := z[0], z[1], z[2]
		all = append(all, Case{Name: fmt.Sprintf("gemm/f32/%dx%dx%d", m, n, k), Build: func(s *Side) kernels.Op {
			return kernels.Gemm{A: s.Strided(f32, 1, m, k, k+4), B: s.Strided(f32, 1, n, k, k+8), D: s.Out(RoundF32, f32, n+4, m, n), Bias: s.Normal(f32, 1, n), F: kernels.GELU}
		}}, Case{Name: fmt.Sprintf("gemm/f32/gate+residual/%dx%dx%d", m, n, k), Build: func(s *Side) kernels.Op {
			x := s.Update(RoundF32, f32, 1, m, n, n)
			return kernels.Gemm{A: s.Normal(f32, 1, m, k), B: s.Normal(f32, 1, n, k), D: x, Residual: x, Gate: s.Normal(f32, 1, n)}
		}}, Case{Name: fmt.Sprintf("gemm/bf16/residual_rows/%dx%dx%d", m, n, k), Build: func(s *Side) kernels.Op {
			return kernels.Gemm{A: s.Normal(bf16, 1, m, k), B: s.Normal(bf16, 1, n, k), D: s.Out(RoundBF16, bf16, n+8, m, n), Residual: s.Strided(bf16, 1, m, n, n+16)}
		}})
	}
	return append(all, floatConvolutions(quick)...)
}

func floatRows(quick bool) []Case {
	var all []Case
	add := func(name string, f func(s *Side, r rows) kernels.Op) {
		for _, r := range append(rowShapes(quick), rows{70, 16, 0}) {
			all = append(all, Case{Name: fmt.Sprintf("%s/%dx%d+%d", name, r.t, r.d, r.pad), Build: func(s *Side) kernels.Op { return f(s, r) }})
		}
	}
	for _, in := range []kernels.DType{bf16, f32} {
		b := RoundBF16
		if in == f32 {
			b = RoundF32
		}
		add("rmsnorm/"+in.String(), func(s *Side, r rows) kernels.Op {
			return kernels.RMSNorm{X: s.Strided(in, 3, r.t, r.d, r.d+r.pad), Y: s.Out(b, in, r.d+r.pad, r.t, r.d), Gain: s.Normal(f32, 1, r.d), F: kernels.SiLU, Eps: 1e-8}
		})
	}
	add("rmsnorm/bare", func(s *Side, r rows) kernels.Op {
		return kernels.RMSNorm{X: s.Normal(f32, 1e-2, r.t, r.d), Y: s.Dense(RoundBF16, bf16, r.t, r.d), Eps: 1e-4}
	})
	// The channels of video VAEs and what is between them: lanes share a row in several ways.
	for _, r := range []rows{{300, 16, 0}, {77, 24, 8}, {65, 32, 0}, {1000, 96, 0}, {33, 192, 16}, {9, 384, 0}, {5, 768, 0}, {4, 776, 0}} {
		for f, name := range map[kernels.Function]string{kernels.Identity: "", kernels.GELU: "gelu/", kernels.SiLU: "silu/"} {
			all = append(all, Case{Name: fmt.Sprintf("rmsnorm/channels/%s%dx%d+%d", name, r.t, r.d, r.pad), Build: func(s *Side) kernels.Op {
				return kernels.RMSNorm{X: s.Strided(bf16, 2, r.t, r.d, r.d+r.pad), Y: s.Out(RoundBF16, bf16, r.d+2*r.pad, r.t, r.d), Gain: s.Normal(f32, 1, r.d), F: f, Eps: 1e-8}
			}})
		}
		all = append(all, Case{Name: fmt.Sprintf("rmsnorm/widen/%dx%d+%d", r.t, r.d, r.pad), Build: func(s *Side) kernels.Op {
			return kernels.RMSNorm{X: s.Strided(bf16, 2, r.t, r.d, r.d+r.pad), Y: s.Out(RoundF32, f32, r.d+r.pad, r.t, r.d), F: kernels.SiLU, Eps: 1e-6}
		}})
	}
	for _, d := range []kernels.DType{bf16, f32} {
		b := map[kernels.DType]Bound{bf16: RoundBF16, f32: RoundF32}[d]
		add("rmsnorm/in_place/"+d.String(), func(s *Side, r rows) kernels.Op {
			x := s.Update(b, d, 2, r.t, r.d, r.d+r.pad)
			return kernels.RMSNorm{X: x, Y: x, Gain: s.Normal(f32, 1, r.d), Eps: 1e-6}
		})
		add("multiply/"+d.String(), func(s *Side, r rows) kernels.Op {
			return kernels.Multiply{X: s.Update(b, d, 1, r.t, r.d, r.d+r.pad), Y: s.Strided(d, 1, r.t, r.d, r.d+2*r.pad)}
		})
	}
	add("layernorm/to_f32", func(s *Side, r rows) kernels.Op {
		return kernels.LayerNorm{X: s.Normal(f32, 3, r.t, r.d), Y: s.Out(RoundF32, f32, r.d+r.pad, r.t, r.d), Gain: s.Normal(f32, 0.3, r.d), Shift: s.Normal(f32, 1, r.d), PlusOne: true, Eps: 1e-6}
	})
	add("gate_residual/of_f32", func(s *Side, r rows) kernels.Op {
		return kernels.GateResidual{X: s.Update(RoundF32, f32, 1, r.t, r.d, r.d+r.pad), Y: s.Strided(f32, 1, r.t, r.d, r.d+r.pad), Gate: s.Normal(f32, 1, r.d)}
	})
	add("scale_shift/by_f32", func(s *Side, r rows) kernels.Op {
		return kernels.ScaleShift{X: s.Update(RoundF32, f32, 1, r.t, r.d, r.d+r.pad), S: s.Normal(f32, 0.5, r.t, r.d), T: s.Strided(f32, 1, r.t, r.d, r.d+r.pad)}
	})
	for _, f := range []kernels.Function{kernels.GELU, kernels.SiLU, kernels.ExactGELU} {
		add(fmt.Sprintf("activation/f32/%d", f), func(s *Side, r rows) kernels.Op {
			return kernels.Activation{X: s.Strided(f32, 3, r.t, r.d, r.d+r.pad), Y: s.Out(RoundF32, f32, r.d+r.pad, r.t, r.d), F: f}
		})
	}
	return all
}

// floatConvolutions have the few channels and the odd sizes of small models, in both types.
func floatConvolutions(quick bool) []Case {
	type shape struct{ t, h, w, c, n, kt, kh, kw, pad, st, ss int }
	shapes := []shape{
		{3, 5, 7, 16, 16, 3, 3, 3, 2, 1, 1}, {2, 9, 13, 8, 48, 1, 3, 3, 0, 1, 1}, {4, 3, 5, 24, 3, 3, 3, 3, 0, 1, 1}, {5, 4, 4, 16, 40, 3, 1, 1, 1, 2, 1},
		{2, 6, 10, 16, 16, 1, 2, 2, 0, 1, 2}, {2, 8, 6, 8, 24, 1, 3, 3, 0, 1, 2}, {1, 3, 3, 40, 16, 1, 1, 1, 0, 1, 1}, {2, 30, 34, 8, 8, 1, 3, 3, 0, 1, 1},
		{3, 41, 21, 8, 16, 1, 3, 3, 0, 1, 2}, // several rows of a stride at once
		{5, 6, 10, 16, 32, 2, 2, 2, 1, 2, 2},
	}
	if quick {
		shapes = shapes[:1]
	}
	var all []Case
	for i, z := range shapes {
		for _, d := range []kernels.DType{f32, bf16} {
			b := RoundBF16
			if d == f32 {
				b = RoundF32
			}
			all = append(all, Case{Name: fmt.Sprintf("conv3d/small/%v/%v", d, z), Build: func(s *Side) kernels.Op {
				to, ho, wo := (z.t+z.pad-z.kt)/z.st+1, (z.h+z.ss-1)/z.ss, (z.w+z.ss-1)/z.ss
				o := kernels.Conv3D{X: s.Normal(d, 1, z.t, z.h, z.w, z.c), W: s.Normal(d, 0.2, z.n, z.kt, z.kh, z.kw, z.c), Bias: s.Normal(d, 1, z.n),
					Y: s.Dense(b, d, to, ho, wo, z.n), PadT: z.pad, StrideT: z.st, StrideS: z.ss}
				if i%2 == 0 {
					o.Residual = s.Normal(d, 1, to, ho, wo, z.n)
				}
				return o
			}})
		}
	}
	return all
}
