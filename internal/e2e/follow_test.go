package e2e_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"
)

// followEvery is the pause between two looks at a video.
const followEvery = 30 * time.Millisecond

// sighting is what one look at a video saw that the look before did not.
type sighting struct {
	status   string
	progress int
	at       time.Time
}

// follower looks at a video until it has ended, and holds every look against what must always be true.
type follower struct {
	id   string
	done chan struct{}

	mu    sync.Mutex
	seen  []sighting
	wrong []string
}

// follow starts to look. The test must call check once the video has ended.
func follow(t *testing.T, c *client, id string) *follower {
	t.Helper()
	f := &follower{id: id, done: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	go func() { defer close(f.done); f.look(ctx, c) }()
	t.Cleanup(func() { stop(); <-f.done })
	return f
}

func (f *follower) look(ctx context.Context, c *client) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		v, err := c.get(ctx, f.id)
		switch {
		case err == nil:
			if f.note(v) {
				return
			}
		case statusOf(err) == http.StatusNotFound:
			f.mu.Lock()
			f.wrong = append(f.wrong, "404 for a video that was accepted")
			f.mu.Unlock()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// note takes a look in and says whether it is the last one.
func (f *follower) note(v video) (last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.seen)
	if n > 0 && f.seen[n-1].status == v.Status && f.seen[n-1].progress == v.Progress {
		return false
	}
	f.seen = append(f.seen, sighting{v.Status, v.Progress, time.Now()})
	if (v.Progress == 100) != (v.Status == "completed") || v.Status == "queued" && v.Progress != 0 {
		f.wrong = append(f.wrong, "progress does not go with the status "+v.Status)
	}
	return v.terminal()
}

// progress is the progress of the last look at a running video, -1 when it does not run.
func (f *follower) progress() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.seen); n > 0 && f.seen[n-1].status == "in_progress" {
		return f.seen[n-1].progress
	}
	return -1
}

// check waits for the end and compares the way there with the number of attempts: status and progress go back at most once for each new one.
func (f *follower) check(t *testing.T, attempts int) {
	t.Helper()
	select {
	case <-f.done:
	case <-time.After(videoTimeout):
		t.Fatalf("%s did not end", f.id)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.wrong {
		t.Errorf("%s: %s: %+v", f.id, w, f.seen)
	}
	back := 0
	for i := 1; i < len(f.seen); i++ {
		before, now := f.seen[i-1], f.seen[i]
		if before.status == "in_progress" && now.status == "queued" || before.status == now.status && now.progress < before.progress {
			back++
		}
	}
	if back > attempts-1 {
		t.Errorf("%s went back %d times in %d attempts: %+v", f.id, back, attempts, f.seen)
	}
}
