package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTimersAreRelaxed on every thread, Go's watcher among them, and in what they begin.
func TestTimersAreRelaxed(t *testing.T) {
	if err := relaxTimers(liveTimerSlack); err != nil {
		t.Skip(err) // no CAP_SYS_NICE
	}
	defer func() { _ = relaxTimers(50_000) }()
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil || len(threads) < 2 {
		t.Fatal(threads, err)
	}
	for _, thread := range threads {
		got, err := os.ReadFile("/proc/" + filepath.Base(thread) + "/timerslack_ns")
		if err != nil || strings.TrimSpace(string(got)) != "1000000" {
			t.Errorf("%s has %s %v", thread, got, err)
		}
	}
	got, err := exec.CommandContext(t.Context(), "cat", "/proc/self/timerslack_ns").Output()
	if err != nil || strings.TrimSpace(string(got)) != "1000000" {
		t.Errorf("a child has %s %v", got, err)
	}
}
