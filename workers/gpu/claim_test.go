package gpu_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"telefuser/workers/gpu"
)

func TestClaimIsExclusive(t *testing.T) {
	dir := t.TempDir()
	a, err := gpu.ClaimDevice(dir, "GPU-a", gpu.Alone)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gpu.ClaimDevice(dir, "GPU-a", gpu.Alone); !errors.Is(err, gpu.ErrClaimed) {
		t.Errorf("second claim: %v, want ErrClaimed", err)
	}
	b, err := gpu.ClaimDevice(dir, "GPU-b", gpu.Alone)
	if err != nil {
		t.Errorf("another device: %v", err)
	} else if err := b.Release(); err != nil {
		t.Error(err)
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := gpu.ClaimDevice(dir, "GPU-a", gpu.Alone)
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

func TestClaimRefusesPaths(t *testing.T) {
	for _, id := range []string{"", "../x", "a/b"} {
		if _, err := gpu.ClaimDevice(t.TempDir(), id, gpu.Shared); !errors.Is(err, gpu.ErrInvalid) {
			t.Errorf("claim of %q: %v, want ErrInvalid", id, err)
		}
	}
}

func TestSharedClaimsKeepOutOnlyThoseThatAreAlone(t *testing.T) {
	dir := t.TempDir()
	var held []*gpu.Claim
	for range 2 {
		c, err := gpu.ClaimDevice(dir, "GPU-a", gpu.Shared)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for _, c := range held {
		if _, err := gpu.ClaimDevice(dir, "GPU-a", gpu.Alone); !errors.Is(err, gpu.ErrClaimed) {
			t.Errorf("alone beside others: %v", err)
		}
		if err := c.Release(); err != nil {
			t.Fatal(err)
		}
	}
	alone, err := gpu.ClaimDevice(dir, "GPU-a", gpu.Alone)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Release()
	if _, err := gpu.ClaimDevice(dir, "GPU-a", gpu.Shared); !errors.Is(err, gpu.ErrClaimed) {
		t.Errorf("beside one that is alone: %v", err)
	}
}

// TestClaimsAreForAllUsers: a lock file that another user made is only readable, and its folder anybody's.
func TestClaimsAreForAllUsers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gpus")
	c, err := gpu.ClaimDevice(dir, "GPU-a", gpu.Alone)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{dir: 0o777 | fs.ModeSticky, filepath.Join(dir, "GPU-a.lock"): 0o644} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode() & (fs.ModePerm | fs.ModeSticky); got != want {
			t.Errorf("%s: mode %v, want %v", path, got, want)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "GPU-a.lock"), 0o444); err != nil {
		t.Fatal(err)
	}
	if c, err = gpu.ClaimDevice(dir, "GPU-a", gpu.Alone); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(); err != nil {
		t.Error(err)
	}
}
