package livekit_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"telefuser/internal/bench/viewer"
	"telefuser/streaming"
)

// openFiles counts this process's descriptors.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("the system does not say which files are open")
	}
	return len(list)
}

func TestJoiningAndLeavingLeaksNothing(t *testing.T) {
	s := start(t)
	cycle := func() {
		room := s.room(t)
		p, err := s.Join(t.Context(), joinOf(room, 1))
		if err != nil {
			t.Fatal(err)
		}
		v, err := viewer.Join(t.Context(), s.process.URL, s.token(t, room, "viewer", streaming.RoleViewer), viewer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.WriteFrame(t.Context(), picture(0), 0, time.Time{}); err != nil {
			t.Fatal(err)
		}
		v.Close()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), room); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	settle(t, "before", 0, 0)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	const cycles = 50
	for range cycles {
		cycle()
	}
	// A handful for the HTTP connections that are kept.
	settle(t, "after", goroutines+10, files+10)
}

// settle waits until what was closed is gone, as far as it is ours: the library lets go beside us. With limits of 0 it waits for the end of the change.
func settle(t *testing.T, when string, goroutines, files int) {
	t.Helper()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for last := -1; ; {
		g, f := runtime.NumGoroutine(), openFiles(t)
		if goroutines == 0 && g == last || goroutines > 0 && g <= goroutines && f <= files {
			return
		}
		last = g
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("%s: %d goroutines, allowed %d; %d files, allowed %d", when, g, goroutines, f, files)
		}
	}
}
