package e2e_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"
)

// load is clients that create, read and list all the time.
type load struct {
	group sync.WaitGroup

	mu       sync.Mutex
	made     []string
	requests int
	failed   []string
}

// startLoad sends requests through the balancer until ctx ends; the caller waits for its group then. Requests have a context of their own:
// one that is under way when the load ends is no failure.
func (s *stack) startLoad(ctx context.Context) *load {
	l := &load{}
	requests := context.WithoutCancel(ctx)
	l.every(ctx, 500*time.Millisecond, func() {
		v, err := s.client.post(requests, small("under load"), nil)
		l.note("create", v.ID, err)
	})
	l.every(ctx, 15*time.Millisecond, func() {
		if id := l.newest(); id != "" {
			_, err := s.client.get(requests, id)
			l.note("get", "", err)
		}
	})
	l.every(ctx, 50*time.Millisecond, func() {
		_, err := s.client.call(requests, http.MethodGet, "/v1/videos?limit=5", nil, nil, nil)
		l.note("list", "", err)
	})
	return l
}

func (l *load) every(ctx context.Context, d time.Duration, do func()) {
	l.group.Go(func() {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				do()
			}
		}
	})
}

// note counts a request, with the video that it made, if any.
func (l *load) note(what, made string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	if made != "" {
		l.made = append(l.made, made)
	}
	if err != nil {
		l.failed = append(l.failed, what+": "+err.Error())
	}
}

func (l *load) newest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.made) == 0 {
		return ""
	}
	return l.made[len(l.made)-1]
}

// more waits until so many more requests were made.
func (l *load) more(t *testing.T, n int) {
	t.Helper()
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.requests
	}
	until := count() + n
	waitFor(t, readyTimeout, "more requests", func() bool { return count() >= until })
}
