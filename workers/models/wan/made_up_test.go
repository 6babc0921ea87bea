package wan_test

import (
	"errors"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/gpu/gputest"
	"telefuser/workers/kernels"
	"telefuser/workers/models/wan"
)

// onMadeUpGPU opens backends of a GPU that computes nothing, for what surrounds the numbers.
func onMadeUpGPU(t *testing.T) (b wan.WorldBackends, held func() int64) {
	t.Helper()
	m, err := gputest.New(t.TempDir(), 1, 1<<31)
	if errors.Is(err, gputest.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := gpu.Open(m.Driver())
	if err != nil {
		t.Fatal(err)
	}
	var all []*kernels.Threaded
	for _, at := range []*kernels.Backend{&b.Encode, &b.Denoise, &b.Decode} {
		one, err := kernels.OpenThreaded(t.Context(), d, 0, kernels.CUDAOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := one.Close(); err != nil {
				t.Error(err)
			}
		})
		*at, all = one, append(all, one)
	}
	return b, func() int64 {
		var sum int64
		for _, one := range all {
			sum += one.Memory().HeldBytes
		}
		return sum
	}
}

// TestWorldFitsAGPU makes chunks of a world on a GPU: every operation has a kernel there and tensors that it takes, and nothing is allocated
// once a video has begun.
func TestWorldFitsAGPU(t *testing.T) {
	b, held := onMadeUpGPU(t)
	c := smallWorld()
	c.Type = kernels.BF16
	f := fly(t, randomWorld(t, b, c), nil, 1, 7)
	base := held()
	for range 6 {
		latents, _ := f.next()
		f.frames(latents)
		if _, err := f.w.Frames(f.v, latents); err != nil {
			t.Fatal(err)
		}
	}
	if now := held(); now > base {
		t.Errorf("%d bytes more than at the beginning", now-base)
	}
}
