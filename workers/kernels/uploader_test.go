package kernels_test

import (
	"bytes"
	"errors"
	"testing"

	"telefuser/workers/kernels"
)

func TestUploadsArriveWhole(t *testing.T) {
	onRanks(t, func(t *testing.T, _ *kernels.Ranks, cs []*kernels.CUDA) {
		t.Helper()
		for _, size := range []int{1000, 5 << 20} {
			u, err := cs[0].NewUploader(2, size)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{1, size - 1, size, size + 1, 2*size + 77} {
				src := make([]byte, n)
				for i := range src {
					src[i] = byte(i*7 + i>>8 + i>>16)
				}
				x, err := u.New(kernels.U8, n)
				if err != nil {
					t.Fatal(err)
				}
				got := make([]byte, n)
				if err := errors.Join(u.Write(x, src), u.Read(got, x)); err != nil || !bytes.Equal(got, src) {
					t.Errorf("%d bytes by buffers of %d: %v", n, size, err)
				}
			}
			x, err := u.New(kernels.U8, 8)
			if err != nil {
				t.Fatal(err)
			}
			if err := u.Write(x, make([]byte, 9)); !errors.Is(err, kernels.ErrShape) {
				t.Error(err)
			}
			if err := u.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := cs[0].NewUploader(2, 0); !errors.Is(err, kernels.ErrShape) {
			t.Error(err)
		}
	})
}

var _ kernels.Backend = (*kernels.Uploader)(nil)
