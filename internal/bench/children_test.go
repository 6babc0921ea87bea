package bench_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"telefuser/internal/bench"
)

func TestChildrenAreOnesOwn(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc here")
	}
	cmd := exec.CommandContext(t.Context(), "cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if got := bench.Children(os.Getpid()); !slices.Contains(got, cmd.Process.Pid) || slices.Contains(got, os.Getpid()) {
		t.Errorf("children %v, want %d among them", got, cmd.Process.Pid)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := bench.Children(os.Getpid()); slices.Contains(got, cmd.Process.Pid) {
		t.Errorf("a child that has ended is there: %v", got)
	}
}
