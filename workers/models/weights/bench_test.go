package weights_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// BenchmarkTensor brings a tensor of 32 MiB in bf16 to the host's memory from the page cache, or from a seed.
func BenchmarkTensor(b *testing.B) {
	const n = 16 << 20
	blueprint := weights.Blueprint{Model: "toy", Parameters: []weights.Parameter{{Name: "v", Shape: []int{n}, Sigma: 1}}}
	for _, kind := range []weights.Type{weights.BF16, weights.F16, weights.F32, "seed"} {
		set := weights.Random(1, blueprint)
		if kind != "seed" {
			path := filepath.Join(b.TempDir(), "x.safetensors")
			writeFile(b, path, encode(b, map[string]tensor{"v": {kind, []int{n}, make([]byte, n*kind.Bytes())}}))
			var err error
			if set, err = weights.Load(path, blueprint); err != nil {
				b.Fatal(err)
			}
		}
		for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
			b.Run(fmt.Sprintf("%s/%v", kind, d), func(b *testing.B) {
				b.SetBytes(2 * n)
				x, err := kernels.Reference{}.New(d, n)
				for b.Loop() {
					if err == nil {
						err = set.Upload(kernels.Reference{}, x, "v")
					}
				}
				if err != nil {
					b.Fatal(err)
				}
			})
		}
		if err := set.Close(); err != nil {
			b.Error(err)
		}
	}
}
