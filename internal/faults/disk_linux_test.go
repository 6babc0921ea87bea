package faults_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestDiskFull (F25) fills the disk of a worker's unfinished files: its job fails with a word on why, and the next one goes well once there is room.
func TestDiskFull(t *testing.T) {
	need(t, extentFull)
	t.Parallel()
	b := startBench(t, options{workers: 1})
	worker := b.workers[0]
	if _, err := worker.stop(); err != nil {
		t.Fatal(err)
	}
	disk := filepath.Join(b.dir, worker.name, "tmp")
	b.must(os.MkdirAll(disk, 0o700))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("mounting a small disk needs root: %v", err)
	}
	t.Cleanup(func() {
		worker.kill()
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	b.start(worker)
	b.awaitWorkers(1)
	moves := b.counting([]string{attemptsOf + `outcome="insufficient_storage"`})
	filler := filepath.Join(disk, "engines", "filler")
	if err := os.WriteFile(filler, make([]byte, 8<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	b.await(b.create(script("no room"), "insufficient_storage"))
	b.must(os.Remove(filler))
	b.await(b.create(script("room again")))
	if worker.ended() {
		t.Error("the worker ended")
	}
	moves.look()
	b.check()
}
