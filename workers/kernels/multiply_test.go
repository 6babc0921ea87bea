package kernels_test

import (
	"errors"
	"testing"

	"telefuser/workers/kernels"
)

func TestMultiply(t *testing.T) {
	const rows, d, pitch = 5, 24, 32
	for _, b := range []kernels.Backend{kernels.Reference{}, kernels.NewCPU(kernels.CPUOptions{})} {
		for _, kind := range []kernels.DType{kernels.F32, kernels.BF16} {
			draw := func(seed uint64) kernels.Tensor {
				x, err := b.New(kind, rows, pitch)
				if err != nil {
					t.Fatal(err)
				}
				if err := b.Run(kernels.Noise{Y: x, Seed: seed, Sigma: 1}); err != nil {
					t.Fatal(err)
				}
				return x
			}
			x, y, before := draw(1), draw(2), draw(1)
			if err := b.Run(kernels.Multiply{X: x.Columns(0, d), Y: y.Columns(0, d)}); err != nil {
				t.Fatal(err)
			}
			want := kernels.Layout(kind, 1)
			want.Host = make([]byte, kind.Bytes())
			for i := range rows * pitch {
				if want.Set(0, before.Get(i)); i%pitch < d {
					want.Set(0, before.Get(i)*y.Get(i))
				}
				if x.Get(i) != want.Get(0) {
					t.Fatalf("%s %v: element %d is %g, want %g", b.Name(), kind, i, x.Get(i), want.Get(0))
				}
			}
		}
	}
}

func TestMultiplyRefuses(t *testing.T) {
	x := func(kind kernels.DType, shape ...int) kernels.Tensor { return kernels.Layout(kind, shape...) }
	for what, op := range map[string]kernels.Multiply{
		"shapes": {x(kernels.F32, 2, 8), x(kernels.F32, 2, 16)}, "types": {x(kernels.F32, 2, 8), x(kernels.BF16, 2, 8)},
		"e4m3": {x(kernels.E4M3, 2, 8), x(kernels.E4M3, 2, 8)}, "rank": {x(kernels.F32, 8), x(kernels.F32, 8)},
	} {
		if err := op.Check(); !errors.Is(err, kernels.ErrShape) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
