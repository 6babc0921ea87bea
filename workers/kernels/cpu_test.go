package kernels_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/kernels/simd"
)

// random makes a tensor of normally distributed numbers.
func random(tb testing.TB, b kernels.Backend, t kernels.DType, deviation float64, shape ...int) kernels.Tensor {
	tb.Helper()
	x, err := b.New(t, shape...)
	if err != nil {
		tb.Fatal(err)
	}
	r := rand.New(rand.NewPCG(uint64(x.Len()), 9))
	for i := range x.Len() {
		x.Set(i, r.NormFloat64()*deviation)
	}
	return x
}

// workload is an operation of each kind that is cut among workers, with its output.
func workload(tb testing.TB, c *kernels.CPU) map[string]func() (kernels.Op, kernels.Tensor) {
	tb.Helper()
	const bf16 = kernels.BF16
	return map[string]func() (kernels.Op, kernels.Tensor){
		"gemm": func() (kernels.Op, kernels.Tensor) {
			y := random(tb, c, bf16, 0, 77, 272)
			return kernels.Gemm{A: random(tb, c, bf16, 1, 77, 144), B: random(tb, c, bf16, 1, 272, 144), D: y, F: kernels.GELU}, y
		},
		"one row": func() (kernels.Op, kernels.Tensor) {
			y := random(tb, c, kernels.F32, 0, 1, 400)
			return kernels.Gemm{A: random(tb, c, bf16, 1, 1, 144), B: random(tb, c, bf16, 1, 400, 144), D: y, F: kernels.GELU}, y
		},
		"attention": func() (kernels.Op, kernels.Tensor) {
			y := random(tb, c, bf16, 0, 61, 256)
			return kernels.Attention{Q: random(tb, c, bf16, 1, 61, 256), K: random(tb, c, bf16, 1, 333, 256), V: random(tb, c, bf16, 2, 333, 256), O: y, Keys: 333, Scale: 0.1, ValueScale: 1}, y
		},
		"conv": func() (kernels.Op, kernels.Tensor) {
			y := random(tb, c, bf16, 0, 3, 17, 13, 24)
			return kernels.Conv3D{X: random(tb, c, bf16, 1, 3, 17, 13, 16), W: random(tb, c, bf16, 1, 24, 3, 3, 3, 16), Bias: random(tb, c, bf16, 1, 24), Y: y, PadT: 2}, y
		},
		"rows": func() (kernels.Op, kernels.Tensor) {
			y := random(tb, c, bf16, 0, 1000, 256)
			return kernels.LayerNorm{X: random(tb, c, bf16, 1, 1000, 256), Y: y, Eps: 1e-6}, y
		},
	}
}

func TestBitsDoNotDependOnTheNumberOfWorkers(t *testing.T) {
	for _, l := range simd.Levels() {
		results := map[string][]byte{}
		for _, workers := range []int{1, 2, 3, 7, 8} {
			c := kernels.NewCPU(kernels.CPUOptions{Level: &l, Workers: workers, Eager: true})
			for name, make := range workload(t, c) {
				op, y := make()
				if err := c.Run(op); err != nil {
					t.Fatal(err)
				}
				if first, ok := results[name]; ok && !bytes.Equal(first, y.Host) {
					t.Errorf("%v, %s: %d workers give other bits than one", l, name, workers)
				} else if !ok {
					results[name] = y.Host
				}
			}
		}
	}
}

func TestWhatHasNoFastPathIsDoneByTheReference(t *testing.T) {
	c := kernels.NewCPU(kernels.CPUOptions{})
	x, want := random(t, c, kernels.BF16, 1, 3, 64), random(t, c, kernels.E4M3, 0, 3, 64)
	got, scale := random(t, c, kernels.E4M3, 0, 3, 64), random(t, c, kernels.F32, 0, 3)
	do(t, kernels.Quantise{X: x, Y: want, Scale: scale})
	if err := c.Run(kernels.Quantise{X: x, Y: got, Scale: scale}); err != nil || !bytes.Equal(got.Host, want.Host) {
		t.Errorf("other bytes, or %v", err)
	}
}

func BenchmarkCPU(b *testing.B) {
	const bf16, f32 = kernels.BF16, kernels.F32
	c := kernels.NewCPU(kernels.CPUOptions{})
	run := func(name string, flops float64, op kernels.Op) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := c.Run(op); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
	for _, t := range []kernels.DType{bf16, f32} {
		for _, z := range [][3]int{{240, 256, 256}, {240, 768, 256}, {240, 256, 768}, {240, 256, 1536}, {1560, 1536, 1536}} {
			m, n, k := z[0], z[1], z[2]
			run(fmt.Sprintf("gemm/%v/%dx%dx%d", t, m, n, k), 2*float64(m*n*k),
				kernels.Gemm{A: random(b, c, t, 1, m, k), B: random(b, c, t, 1, n, k), D: random(b, c, t, 1, m, n), Bias: random(b, c, t, 1, n), F: kernels.GELU})
		}
		for _, keys := range []int{8, 240, 960} {
			const q, d = 240, 256
			run(fmt.Sprintf("attention/%v/%dx%dx2", t, q, keys), 4*float64(q*keys*d),
				kernels.Attention{Q: random(b, c, t, 1, q, d), K: random(b, c, t, 1, keys, d), V: random(b, c, t, 1, keys, d), O: random(b, c, t, 1, q, d), Keys: keys, Scale: 0.09, ValueScale: 1})
		}
		for _, z := range [][5]int{{16, 96, 160, 16, 16}, {16, 48, 80, 32, 32}, {8, 24, 40, 64, 64}, {4, 12, 20, 64, 64}} {
			t0, h, w, ch, n := z[0], z[1], z[2], z[3], z[4]
			run(fmt.Sprintf("conv/%v/%dx%dx%d/%d-%d", t, t0, h, w, ch, n), 2*27*float64(t0*h*w*ch*n), kernels.Conv3D{X: random(b, c, t, 1, t0+2, h, w, ch),
				W: random(b, c, t, 1, n, 3, 3, 3, ch), Bias: random(b, c, t, 1, n), Residual: random(b, c, t, 1, t0, h, w, n), Y: random(b, c, t, 1, t0, h, w, n)})
		}
		run(fmt.Sprintf("rmsnorm+silu/%v/16x96x160x16", t), 8*16*96*160*16, kernels.RMSNorm{X: random(b, c, t, 1, 16*96*160, 16), Y: random(b, c, t, 1, 16*96*160, 16), Gain: random(b, c, f32, 1, 16), F: kernels.SiLU, Eps: 1e-8})
	}
}
