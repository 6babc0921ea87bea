package pipeline

import (
	"errors"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/gpu/gputest"
)

// TestSightFitsAGPU makes videos on a GPU that computes nothing: every operation has a kernel there and tensors that it takes, and a video gives its
// memory back to the next one.
func TestSightFitsAGPU(t *testing.T) {
	m, err := gputest.New(t.TempDir(), 1, 1<<32)
	if errors.Is(err, gputest.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewSmallSight(Options{Devices: []int{0}, drivers: []string{m.Driver()}})
	p = loaded(t, p, err)
	held := func() int64 { return p.(MemoryUser).DeviceMemory()[0].HeldBytes }
	var first int64
	for i := range 4 {
		if chunks, frames := makes(t, p, request(p, 17), 9); len(chunks) != 2 || len(frames) != 17 {
			t.Fatalf("%d chunks, %d frames", len(chunks), len(frames))
		}
		if now := held(); i == 0 {
			first = now
		} else if now != first {
			t.Errorf("after video %d the device holds %d bytes, %d after the first", i, now, first)
		}
	}
}

// TestSightOnCUDA makes a video of the small model on the first GPU, which is near the processor's: activations are bf16 there.
func TestSightOnCUDA(t *testing.T) {
	if d, err := gpu.Open(); err != nil {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	} else if n, err := d.Count(); err != nil || n < 1 {
		t.Skipf("needs an NVIDIA GPU: there are %d, %v", n, err)
	}
	video := func(devices ...int) []byte {
		p, err := NewSmallSight(Options{Devices: devices})
		p = loaded(t, p, err)
		_, frames := makes(t, p, request(p, 5), 9)
		if len(frames) != 5 {
			t.Fatalf("%d frames", len(frames))
		}
		return frames[4].Data
	}
	var sum float64
	want, got := video(), video(0)
	for i := range want {
		d := float64(got[i]) - float64(want[i])
		sum += max(d, -d) / float64(len(want))
	}
	t.Logf("the frames differ by %.2f of 255", sum)
	if sum > 5 {
		t.Errorf("the frames differ by %.2f of 255", sum)
	}
}
