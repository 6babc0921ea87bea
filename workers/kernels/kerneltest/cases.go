package kerneltest

import (
	"fmt"

	"telefuser/workers/kernels"
)

const (
	f32  = kernels.F32
	bf16 = kernels.BF16
	e4m3 = kernels.E4M3
)

// Cases lists the suite.
func Cases(quick bool) []Case {
	var all []Case
	for _, group := range [][]Case{rowCases(quick), roundCases(), cacheCases(quick), pixelCases(quick), noiseCases(), gemmCases(quick), attentionCases(quick), convCases(quick),
		floatCases(quick), copyCases()} {
		all = append(all, group...)
	}
	return all
}

type rows struct{ t, d, pad int }

// rowShapes are the edges of kernels that give a row to a block: one row, one vector, a
// block's worth and one more, an odd width between, the true width of the model, the longest row, padded rows.
func rowShapes(quick bool) []rows {
	if quick {
		return []rows{{3, 264, 8}, {3, 3080, 8}}
	}
	return []rows{{1, 8, 0}, {3, 264, 8}, {5, 512, 0}, {3, 3080, 8}, {7, 5120, 16}, {2, 13824, 0}}
}

func rowCases(quick bool) []Case {
	var all []Case
	add := func(name string, f func(s *Side, r rows) kernels.Op) {
		for _, r := range rowShapes(quick) {
			all = append(all, Case{Name: fmt.Sprintf("%s/%dx%d+%d", name, r.t, r.d, r.pad), Build: func(s *Side) kernels.Op { return f(s, r) }})
		}
	}
	for _, in := range []kernels.DType{bf16, f32} {
		add("layernorm/"+in.String(), func(s *Side, r rows) kernels.Op {
			return kernels.LayerNorm{X: s.Strided(in, 3, r.t, r.d, r.d+r.pad), Y: s.Out(RoundBF16, bf16, r.d+r.pad, r.t, r.d),
				Gain: s.Normal(f32, 0.3, r.d), Shift: s.Normal(f32, 1, r.d), PlusOne: true, Eps: 1e-6}
		})
		add("layernorm/e4m3/"+in.String(), func(s *Side, r rows) kernels.Op {
			return kernels.LayerNorm{X: s.Strided(in, 3, r.t, r.d, r.d+r.pad), Y: s.Out(RoundE4M3, e4m3, r.d+2*r.pad, r.t, r.d),
				Gain: s.Normal(f32, 1, r.d), Scale: s.Dense(RoundF32, f32, r.t), Eps: 1e-6}
		})
		add("gate_residual/"+in.String(), func(s *Side, r rows) kernels.Op {
			b := RoundBF16
			if in == f32 {
				b = RoundF32
			}
			return kernels.GateResidual{X: s.Update(b, in, 1, r.t, r.d, r.d+r.pad), Y: s.Strided(bf16, 1, r.t, r.d, r.d+r.pad), Gate: s.Normal(f32, 1, r.d)}
		})
		add("scale_shift/"+in.String(), func(s *Side, r rows) kernels.Op {
			b := RoundBF16
			if in == f32 {
				b = RoundF32
			}
			return kernels.ScaleShift{X: s.Update(b, in, 1, r.t, r.d, r.d+r.pad), S: s.Normal(bf16, 0.5, r.t, r.d), T: s.Strided(bf16, 1, r.t, r.d, r.d+r.pad)}
		})
		add("softmax/"+in.String(), func(s *Side, r rows) kernels.Op {
			b := RoundBF16
			if in == f32 {
				b = RoundF32
			}
			return kernels.Softmax{X: s.Strided(in, 4, r.t, r.d, r.d+r.pad), Y: s.Out(b, in, r.d+r.pad, r.t, r.d), Factor: 0.7}
		})
	}
	add("layernorm/bare", func(s *Side, r rows) kernels.Op {
		return kernels.LayerNorm{X: s.Normal(bf16, 1, r.t, r.d), Y: s.Dense(RoundBF16, bf16, r.t, r.d), Eps: 1e-6}
	})
	add("gate_residual/ungated", func(s *Side, r rows) kernels.Op {
		return kernels.GateResidual{X: s.Update(RoundBF16, bf16, 1, r.t, r.d, r.d), Y: s.Normal(bf16, 1, r.t, r.d)}
	})
	for _, f := range []kernels.Function{kernels.GELU, kernels.SiLU, kernels.ExactGELU} {
		add(fmt.Sprintf("activation/%d", f), func(s *Side, r rows) kernels.Op {
			return kernels.Activation{X: s.Strided(bf16, 3, r.t, r.d, r.d+r.pad), Y: s.Out(RoundBF16, bf16, r.d+r.pad, r.t, r.d), F: f}
		})
	}
	add("quantise", func(s *Side, r rows) kernels.Op {
		return kernels.Quantise{X: s.Strided(bf16, 5, r.t, r.d, r.d+r.pad), Y: s.Out(RoundE4M3, e4m3, r.d+r.pad, r.t, r.d), Scale: s.Dense(RoundF32, f32, r.t)}
	})
	add("dequantise", func(s *Side, r rows) kernels.Op {
		return kernels.Dequantise{X: s.Strided(e4m3, 90, r.t, r.d, r.d+r.pad), Scale: s.Scales(r.t), Y: s.Out(RoundBF16, bf16, r.d+r.pad, r.t, r.d)}
	})
	add("embedding", func(s *Side, r rows) kernels.Op {
		ids := []int{0, 10, 3, -1, 11, 7, 2, 1 << 30, 5}
		return kernels.Embedding{IDs: s.Integers(ids...), Table: s.Normal(bf16, 1, 11, r.d), Y: s.Dense(Same, bf16, len(ids), r.d)}
	})
	return all
}

func cacheCases(quick bool) []Case {
	axes := kernels.Axes{Frame: 22, Row: 21, Column: 21}
	var all []Case
	heads := []int{1, 3, 24, 40}
	if quick {
		heads = []int{1, 24}
	}
	for _, h := range heads {
		d := h * kernels.HeadDim
		for _, out := range []kernels.DType{bf16, e4m3} {
			b := RoundBF16
			if out == e4m3 {
				b = RoundE4M3
			}
			all = append(all, Case{Name: fmt.Sprintf("rope/query/%v/%d", out, h), Build: func(s *Side) kernels.Op {
				return kernels.RMSNormRoPE{X: s.Strided(bf16, 2, 50, d, 3*d), Weight: s.Normal(f32, 1, d), Table: s.Table(64, axes),
					State: s.Integers(5, 0, 0, 1), Y: s.Dense(b, out, 50, d), GridH: 3, GridW: 7, Axes: axes, Eps: 1e-6, Factor: 1}
			}})
			// A ring of slots 16 to 80 behind 16 that stay; 50 tokens from slot 48 wrap around.
			all = append(all, Case{Name: fmt.Sprintf("rope/ring/%v/%d", out, h), Build: func(s *Side) kernels.Op {
				return kernels.RMSNormRoPE{X: s.Strided(bf16, 2, 50, d, 3*d), Weight: s.Normal(f32, 1, d), Table: s.Table(64, axes),
					State: s.Integers(2, 48, 16, 80), Y: s.Partial(s.Dense(b, out, 96, d)), InRing: true, GridH: 3, GridW: 7, Axes: axes, Eps: 1e-6, Factor: 0.5}
			}})
		}
		all = append(all, Case{Name: fmt.Sprintf("values/bf16/%d", h), Build: func(s *Side) kernels.Op {
			return kernels.StoreValues{X: s.Strided(bf16, 2, 50, d, 3*d), State: s.Integers(2, 48, 16, 80), Y: s.Partial(s.Dense(RoundBF16, bf16, 96, d)), Factor: 0.5}
		}})
		all = append(all, Case{Name: fmt.Sprintf("values/e4m3/%d", h), Build: func(s *Side) kernels.Op {
			return kernels.StoreValues{X: s.Strided(bf16, 2, 50, d, 3*d), State: s.Integers(2, 48, 16, 80), Y: s.Partial(s.Dense(RoundE4M3, e4m3, d, 96)), Factor: 0.5}
		}})
	}
	return all
}

func pixelCases(quick bool) []Case {
	var all []Case
	sizes := [][3]int{{1, 2, 2}, {2, 6, 10}, {3, 34, 62}, {1, 480, 832}}
	if quick {
		sizes = sizes[1:2]
	}
	for _, z := range sizes {
		f, h, w := z[0], z[1], z[2]
		all = append(all, Case{Name: fmt.Sprintf("i420/u8/%dx%dx%d", f, h, w), Build: func(s *Side) kernels.Op {
			return kernels.I420{X: s.Bytes(f, h, w, 3), Y: s.Dense(Same, kernels.U8, f, h*w*3/2)}
		}})
		for _, d := range []kernels.DType{f32, bf16} {
			all = append(all, Case{Name: fmt.Sprintf("i420/%v/%dx%dx%d", d, f, h, w), Build: func(s *Side) kernels.Op {
				return kernels.I420{X: s.Normal(d, 0.7, 3, f, h, w), Y: s.Dense(Same, kernels.U8, f, h*w*3/2)}
			}}, Case{Name: fmt.Sprintf("i420/interleaved/%v/%dx%dx%d", d, f, h, w), Build: func(s *Side) kernels.Op {
				return kernels.I420{X: s.Normal(d, 0.7, f, h, w, 8), Y: s.Dense(Same, kernels.U8, f, h*w*3/2), Interleaved: true}
			}})
		}
	}
	for _, r := range [][6]int{{2, 3, 5, 6, 10, 1}, {1, 16, 16, 7, 9, 3}, {1, 1, 1, 4, 4, 8}, {3, 9, 4, 9, 4, 16}} {
		for _, d := range []kernels.DType{f32, bf16} {
			for _, bilinear := range []bool{false, true} {
				b := RoundBF16
				if d == f32 {
					b = RoundF32
				}
				all = append(all, Case{Name: fmt.Sprintf("resize/%v/%v/%v", d, bilinear, r), Build: func(s *Side) kernels.Op {
					return kernels.Resize{X: s.Normal(d, 1, r[0], r[1], r[2], r[5]), Y: s.Dense(b, d, r[0], r[3], r[4], r[5]), Bilinear: bilinear}
				}})
			}
		}
	}
	return all
}

func noiseCases() []Case {
	var all []Case
	for _, n := range []int{1, 4, 1023, 40000} {
		all = append(all, Case{Name: fmt.Sprintf("noise/f32/%d", n), Build: func(s *Side) kernels.Op {
			return kernels.Noise{Y: s.Dense(Same, f32, n), Seed: s.rand.Uint64(), Stream: s.rand.Uint64(), First: s.rand.Uint64() &^ 3, Sigma: 1.7}
		}})
		all = append(all, Case{Name: fmt.Sprintf("noise/bf16/%d", n), Build: func(s *Side) kernels.Op {
			return kernels.Noise{Y: s.Dense(Same, bf16, n), Seed: s.rand.Uint64(), Sigma: 1}
		}})
	}
	return all
}

func gemmCases(quick bool) []Case {
	var all []Case
	shapes := [][3]int{{1, 16, 16}, {64, 256, 128}, {129, 272, 144}, {300, 528, 336}, {257, 160, 1040}, {128, 1024, 64}}
	if quick {
		shapes = [][3]int{{129, 272, 144}}
	}
	for _, z := range shapes {
		m, n, k := z[0], z[1], z[2]
		name := fmt.Sprintf("%dx%dx%d", m, n, k)
		add := func(kind string, f func(s *Side) kernels.Op) {
			all = append(all, Case{Name: "gemm/" + kind + "/" + name, Build: f})
		}
		add("bf16", func(s *Side) kernels.Op {
			return kernels.Gemm{A: s.Strided(bf16, 1, m, k, k+8), B: s.Normal(bf16, 1, n, k), D: s.Out(RoundBF16, bf16, n+8, m, n)}
		})
		add("bf16/bias+gelu", func(s *Side) kernels.Op {
			return kernels.Gemm{A: s.Normal(bf16, 0.3, m, k), B: s.Normal(bf16, 0.3, n, k), D: s.Dense(RoundBF16, bf16, m, n), Bias: s.Normal(bf16, 1, n), F: kernels.GELU}
		})
		add("bf16/f32", func(s *Side) kernels.Op {
			return kernels.Gemm{A: s.Normal(bf16, 1, m, k), B: s.Strided(bf16, 1, n, k, k+16), D: s.Out(RoundF32, f32, n+4, m, n), Bias: s.Normal(bf16, 1, n)}
		})
		add("bf16/gate+residual", func(s *Side) kernels.Op {
			d := s.Update(RoundF32, f32, 1, m, n, n)
			return kernels.Gemm{A: s.Normal(bf16, 1, m, k), B: s.Normal(bf16, 1, n, k), D: d, Residual: d, Gate: s.Normal(f32, 1, n), F: kernels.SiLU}
		})
		add("e4m3", func(s *Side) kernels.Op {
			return kernels.Gemm{A: s.Strided(e4m3, 60, m, k, k+16), B: s.Normal(e4m3, 60, n, k), D: s.Out(FastE4M3, bf16, n+8, m, n), ScaleA: s.Scales(m), ScaleB: s.Scales(n)}
		})
		add("e4m3/bias+residual", func(s *Side) kernels.Op {
			return kernels.Gemm{A: s.Normal(e4m3, 60, m, k), B: s.Normal(e4m3, 60, n, k), D: s.Dense(FastE4M3, bf16, m, n), ScaleA: s.Scales(m), ScaleB: s.Scales(n),
				Bias: s.Normal(bf16, 100, n), Residual: s.Normal(bf16, 100, m, n)}
		})
	}
	if quick {
		return all
	}
	// Several tiles for every block, whose kernels stay and walk over tiles.
	const m, n, k = 2, 34048, 400
	return append(all, Case{Name: "gemm/bf16/many", Heavy: true, Build: func(s *Side) kernels.Op {
		return kernels.Gemm{A: s.Normal(bf16, 1, m, k), B: s.Normal(bf16, 1, n, k), D: s.Dense(RoundBF16, bf16, m, n)}
	}}, Case{Name: "gemm/e4m3/many", Heavy: true, Build: func(s *Side) kernels.Op {
		return kernels.Gemm{A: s.Normal(e4m3, 60, m, k), B: s.Normal(e4m3, 60, n, k), D: s.Dense(FastE4M3, bf16, m, n), ScaleA: s.Scales(m), ScaleB: s.Scales(n)}
	}}, Case{Name: "gemm/bf16/many+f32", Heavy: true, Build: func(s *Side) kernels.Op {
		return kernels.Gemm{A: s.Normal(bf16, 1, m, k), B: s.Normal(bf16, 1, n, k), D: s.Dense(RoundF32, f32, m, n)}
	}})
}

func attentionCases(quick bool) []Case {
	var all []Case
	shapes := [][3]int{{1, 16, 1}, {100, 128, 2}, {128, 144, 1}, {129, 512, 3}, {300, 400, 2}, {64, 1200, 1}, {300, 3008, 3}} // the last: keys shared by several blocks of a GPU
	if quick {
		shapes = [][3]int{{129, 272, 2}, {129, 3008, 3}}
	}
	for _, z := range shapes {
		q, k, h := z[0], z[1], z[2]
		d := h * kernels.HeadDim
		name, shared := fmt.Sprintf("%dx%dx%d", q, k, h), k > 3000
		for _, odd := range []int{0, 5} {
			all = append(all, Case{Name: fmt.Sprintf("attention/bf16/%s-%d", name, odd), Heavy: shared, Build: func(s *Side) kernels.Op {
				return kernels.Attention{Q: s.Strided(bf16, 1, q, d, 3*d), K: s.Normal(bf16, 1, k+8, d), V: s.Normal(bf16, 1, k+8, d),
					O: s.Out(RoundBF16, bf16, d+8, q, d), Keys: k - odd, Scale: 0.1, ValueScale: 1}
			}})
		}
		all = append(all, Case{Name: "attention/e4m3/" + name, Heavy: shared, Build: func(s *Side) kernels.Op {
			return kernels.Attention{Q: s.Strided(e4m3, 2, q, d, 3*d), K: s.Normal(e4m3, 2, k+8, d), V: s.Normal(e4m3, 2, d, k+32),
				O: s.Out(ProbE4M3, bf16, d+8, q, d), Keys: k, Scale: 0.025, ValueScale: 0.5}
		}})
	}
	if quick {
		return all
	}
	// Many keys: sums over thousands of terms, and every stage used again and again.
	const q, k, h = 3, 20000, 1
	return append(all, Case{Name: "attention/bf16/many", Heavy: true, Build: func(s *Side) kernels.Op {
		d := h * kernels.HeadDim
		return kernels.Attention{Q: s.Normal(bf16, 1, q, d), K: s.Normal(bf16, 1, k, d), V: s.Normal(bf16, 1, k, d), O: s.Dense(RoundBF16, bf16, q, d),
			Keys: k - 3, Scale: 0.09, ValueScale: 1}
	}}, Case{Name: "attention/e4m3/many", Heavy: true, Build: func(s *Side) kernels.Op {
		d := h * kernels.HeadDim
		return kernels.Attention{Q: s.Normal(e4m3, 1, q, d), K: s.Normal(e4m3, 1, k, d), V: s.Normal(e4m3, 1, d, k), O: s.Dense(ProbE4M3, bf16, q, d),
			Keys: k, Scale: 0.09, ValueScale: 1}
	}})
}

func convCases(quick bool) []Case {
	var all []Case
	type shape struct{ t, h, w, c, n, kt, kh, kw, pad, st, ss int }
	shapes := []shape{
		{3, 9, 17, 16, 32, 3, 3, 3, 2, 1, 1}, {4, 8, 16, 96, 96, 3, 3, 3, 0, 1, 1}, {1, 10, 35, 192, 200, 1, 3, 3, 0, 1, 1},
		{5, 5, 5, 64, 128, 3, 1, 1, 2, 1, 1}, {2, 12, 20, 32, 8, 1, 1, 1, 0, 1, 1}, {2, 7, 9, 48, 192, 3, 3, 3, 2, 1, 1},
		{3, 17, 9, 96, 16, 3, 3, 3, 2, 1, 1}, {1, 35, 21, 96, 96, 1, 3, 3, 0, 1, 1}, {2, 18, 11, 80, 192, 3, 3, 3, 2, 1, 1},
		{2, 8, 12, 24, 16, 1, 3, 3, 0, 1, 2}, {6, 4, 4, 8, 12, 3, 3, 3, 2, 2, 2},
		// The halvings of an encoder, over more than a tile.
		{2, 20, 70, 96, 96, 1, 3, 3, 0, 1, 2}, {1, 35, 33, 48, 200, 1, 3, 3, 0, 1, 2}, {5, 10, 20, 64, 128, 3, 1, 1, 0, 2, 1}, {7, 9, 35, 16, 16, 3, 3, 3, 2, 2, 2},
		// The means around an encoder's levels, whose kernels are as large as their steps.
		{5, 12, 20, 32, 64, 2, 2, 2, 1, 2, 2}, {4, 20, 36, 160, 320, 2, 2, 2, 0, 2, 2}, {2, 34, 22, 160, 160, 1, 2, 2, 0, 1, 2},
	}
	if quick {
		shapes = shapes[:1]
	}
	for _, z := range shapes {
		all = append(all, Case{Name: fmt.Sprintf("conv3d/%v", z), Build: func(s *Side) kernels.Op {
			to := (z.t+z.pad-z.kt)/z.st + 1
			ho, wo := (z.h+z.ss-1)/z.ss, (z.w+z.ss-1)/z.ss
			o := kernels.Conv3D{X: s.Normal(bf16, 1, z.t, z.h, z.w, z.c), W: s.Normal(bf16, 0.2, z.n, z.kt, z.kh, z.kw, z.c), Bias: s.Normal(bf16, 1, z.n),
				Y: s.Dense(RoundBF16, bf16, to, ho, wo, z.n), PadT: z.pad, StrideT: z.st, StrideS: z.ss}
			if z.c == 96 && z.n == 96 {
				o.Residual = s.Normal(bf16, 1, to, ho, wo, z.n)
			}
			return o
		}})
	}
	return all
}

// misfits are operations that every backend must refuse.
func misfits(s *Side) []kernels.Op {
	m := func(d kernels.DType, shape ...int) kernels.Tensor { return s.tensor(d, shape...) }
	x, y := m(bf16, 4, 64), m(bf16, 4, 64)
	return []kernels.Op{
		kernels.LayerNorm{X: x, Y: m(bf16, 4, 72)},
		kernels.LayerNorm{X: m(bf16, 4, 60), Y: m(bf16, 4, 60)},
		kernels.LayerNorm{X: m(bf16, 4, 68).Columns(0, 64), Y: y},
		kernels.LayerNorm{X: x, Y: m(e4m3, 4, 64)},
		kernels.LayerNorm{X: x, Y: y, Gain: m(bf16, 64)},
		kernels.RMSNorm{X: x, Y: m(bf16, 4, 72)},
		kernels.RMSNorm{X: x, Y: m(e4m3, 4, 64)},
		kernels.RMSNorm{X: x, Y: y, Gain: m(bf16, 64)},
		kernels.Copy{X: x, Y: m(bf16, 4, 72)},
		kernels.Copy{X: x, Y: m(kernels.U8, 4, 64)},
		kernels.Copy{},
		kernels.GateResidual{X: x, Y: m(f32, 4, 64)},
		kernels.ScaleShift{X: x, S: y, T: m(bf16, 3, 64)},
		kernels.Activation{X: x, Y: y},
		kernels.Activation{X: x, Y: y, F: kernels.ExactGELU + 1},
		kernels.RMSNorm{X: x, Y: y, F: kernels.ExactGELU},
		kernels.Gemm{A: x, B: m(bf16, 16, 64), D: m(bf16, 4, 16), F: kernels.ExactGELU},
		kernels.Quantise{X: x, Y: m(e4m3, 4, 64), Scale: m(f32, 3)},
		kernels.Softmax{X: x, Y: m(f32, 4, 64)},
		kernels.Embedding{IDs: m(kernels.I32, 3), Table: x, Y: y},
		kernels.I420{X: m(kernels.U8, 1, 3, 4, 3), Y: m(kernels.U8, 1, 18)},
		kernels.Resize{X: m(f32, 1, 2, 2, 1), Y: m(f32, 1, 4, 4, 2)},
		kernels.Noise{Y: m(f32, 8), First: 2},
		kernels.Gemm{A: x, B: m(bf16, 16, 32), D: m(bf16, 4, 16)},
		kernels.Gemm{A: m(bf16, 4, 24), B: m(bf16, 16, 24), D: m(bf16, 4, 16)},
		kernels.Gemm{A: m(e4m3, 4, 64), B: m(e4m3, 16, 64), D: m(bf16, 4, 16)},
		kernels.Gemm{A: m(f32, 4, 64), B: m(bf16, 16, 64), D: m(f32, 4, 16)},
		kernels.Gemm{A: x, B: m(bf16, 16, 64), D: m(f32, 4, 16), Bias: m(f32, 16)},
		kernels.Attention{Q: m(bf16, 4, 100), K: m(bf16, 4, 100), V: m(bf16, 4, 100), O: m(bf16, 4, 100), Keys: 4},
		kernels.Attention{Q: m(bf16, 4, 128), K: m(bf16, 4, 128), V: m(bf16, 4, 128), O: m(bf16, 4, 128), Keys: 5},
		kernels.Attention{Q: m(e4m3, 4, 128), K: m(e4m3, 32, 128), V: m(e4m3, 128, 32), O: m(bf16, 4, 128), Keys: 20},
		kernels.Conv3D{X: m(bf16, 1, 4, 4, 8), W: m(bf16, 8, 3, 3, 3, 8), Bias: m(bf16, 8), Y: m(bf16, 1, 4, 4, 8)},
		kernels.Conv3D{X: m(f32, 1, 4, 4, 8), W: m(bf16, 8, 1, 1, 1, 8), Bias: m(bf16, 8), Y: m(f32, 1, 4, 4, 8)},
		kernels.Conv3D{X: m(bf16, 1, 4, 4, 8), W: m(bf16, 8, 1, 2, 2, 8), Bias: m(bf16, 8), Y: m(bf16, 1, 4, 4, 8)},
	}
}
