package gpu_test

import (
	"errors"
	"testing"

	"telefuser/workers/gpu"
)

func TestClaimIsExclusive(t *testing.T) {
	dir := t.TempDir()
	a, err := gpu.ClaimDevice(dir, "GPU-a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gpu.ClaimDevice(dir, "GPU-a"); !errors.Is(err, gpu.ErrClaimed) {
		t.Errorf("second claim: %v, want ErrClaimed", err)
	}
	b, err := gpu.ClaimDevice(dir, "GPU-b")
	if err != nil {
		t.Errorf("another device: %v", err)
	} else if err := b.Release(); err != nil {
		t.Error(err)
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := gpu.ClaimDevice(dir, "GPU-a")
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

func TestClaimRefusesPaths(t *testing.T) {
	for _, id := range []string{"", "../x", "a/b"} {
		if _, err := gpu.ClaimDevice(t.TempDir(), id); !errors.Is(err, gpu.ErrInvalid) {
			t.Errorf("claim of %q: %v, want ErrInvalid", id, err)
		}
	}
}
