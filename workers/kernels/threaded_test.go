package kernels_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/gpu/gputest"
	"telefuser/workers/kernels"
)

// threaded opens a backend on the first GPU, the machine's own or a made-up one.
func threaded(t *testing.T) *kernels.Threaded {
	t.Helper()
	b, err := kernels.OpenThreaded(t.Context(), enoughGPUs(t, 1), 0, kernels.CUDAOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestThreadedServesEveryGoroutine(t *testing.T) {
	b := threaded(t)
	base := b.Memory().HeldBytes
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			src := bytes.Repeat([]byte{byte(i + 1)}, 9<<20) // more than one pinned buffer
			work := func() error {
				x, err := b.New(kernels.U8, len(src))
				if err != nil {
					return err
				}
				got := make([]byte, len(src))
				err = errors.Join(kernels.Zero(b, x), b.Write(x, src), b.Read(got, x))
				if !bytes.Equal(got, src) {
					t.Errorf("goroutine %d reads what another wrote", i)
				}
				return errors.Join(err, kernels.Free(b, x, kernels.Tensor{}))
			}
			if i%2 == 0 {
				if err := kernels.Section(b, work); err != nil {
					t.Error(err)
				}
			} else if err := work(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if held := b.Memory().HeldBytes; held != base {
		t.Errorf("%d bytes are left", held-base)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := b.New(kernels.U8, 1); !errors.Is(err, gpu.ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
}

func TestZeroReachesTheWholeSpan(t *testing.T) {
	b := threaded(t)
	defer b.Close()
	for _, b := range []kernels.Backend{b, kernels.Reference{}, kernels.NewCPU(kernels.CPUOptions{})} {
		x, err := b.New(kernels.U8, 40)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 40)
		err = errors.Join(b.Write(x, bytes.Repeat([]byte{7}, 40)), kernels.Zero(b, x.Rows(8, 24)), b.Read(got, x))
		want := append(append(bytes.Repeat([]byte{7}, 8), make([]byte, 16)...), bytes.Repeat([]byte{7}, 16)...)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v %v", b.Name(), got, err)
		}
	}
}

func TestThreadedReleasesWhatCameAfterAMark(t *testing.T) {
	b := threaded(t)
	defer b.Close()
	first, err := b.New(kernels.U8, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	mark, held := b.Mark(), b.Memory().HeldBytes
	if mark != 1 {
		t.Errorf("one tensor, and the mark is %d", mark)
	}
	for range 3 {
		if _, err := b.New(kernels.U8, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	free, total, err := b.Room()
	if err := errors.Join(err, b.Release(mark), b.Write(first, make([]byte, 1<<20))); err != nil || b.Memory().HeldBytes != held {
		t.Errorf("%d bytes are held, want %d: %v", b.Memory().HeldBytes, held, err)
	}
	after, _, err := b.Room()
	if err != nil || after < free || after > total || total == 0 {
		t.Errorf("free: %d of %d, then %d: %v", free, total, after, err)
	}
}

// TestThreadedFreesOnlyItsOwn gives back a part of a tensor and a stranger: neither was made by New.
func TestThreadedFreesOnlyItsOwn(t *testing.T) {
	b, other := threaded(t), threaded(t)
	defer b.Close()
	defer other.Close()
	x, err := b.New(kernels.F32, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	before := b.Memory().HeldBytes
	if err := errors.Join(kernels.Free(other, x), kernels.Free(b, x.Rows(1, 2))); err != nil || b.Memory().HeldBytes != before {
		t.Errorf("%d bytes, want %d: %v", b.Memory().HeldBytes, before, err)
	}
	if err := errors.Join(kernels.Free(b, x), kernels.Free(b, x)); err != nil || b.Memory().HeldBytes >= before {
		t.Errorf("%d bytes are held: %v", b.Memory().HeldBytes, err)
	}
}

func TestThreadedSaysThatMemoryIsOut(t *testing.T) {
	m, err := gputest.New(t.TempDir(), 1, 1<<28)
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
	b, err := kernels.OpenThreaded(t.Context(), d, 0, kernels.CUDAOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.New(kernels.U8, 1<<29); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("more than there is: %v", err)
	}
	if err := b.Probe(t.Context()); err != nil {
		t.Errorf("the small kernel: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := kernels.OpenThreaded(ended, d, 0, kernels.CUDAOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("opened after the end: %v", err)
	}
}
