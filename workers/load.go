package workers

import (
	"context"
	"sync"
	"time"
)

// load counts the attempts of a worker and says when it has had enough.
type load struct {
	max int

	mu      sync.Mutex
	started int
	running int
	// serving is whether a slot takes jobs; idleSince counts from then, or from the end of the last attempt.
	serving   bool
	idleSince time.Time
	// full is closed when as many attempts have started as may.
	full chan struct{}
}

func newLoad(startsMax int) *load {
	return &load{max: startsMax, full: make(chan struct{})}
}

// serve notes that a slot takes jobs.
func (l *load) serve() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.serving {
		l.serving, l.idleSince = true, time.Now()
	}
}

// begin counts an attempt in; false means that there have been enough already.
func (l *load) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.max > 0 && l.started >= l.max {
		return false
	}
	l.started++
	l.running++
	if l.started == l.max {
		close(l.full)
	}
	return true
}

// end counts an attempt out.
func (l *load) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	l.idleSince = time.Now()
}

func (l *load) busy() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

// idleFor is how long no attempt has run.
func (l *load) idleFor() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.serving || l.running > 0 {
		return 0
	}
	return time.Since(l.idleSince)
}

// watch calls stop when the worker has been idle for as long as it may; 0 is for ever.
func (l *load) watch(ctx context.Context, idleMax time.Duration, stop func()) {
	if idleMax == 0 {
		return
	}
	timer := time.NewTimer(idleMax)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		idle := l.idleFor()
		if idle >= idleMax {
			stop()
			return
		}
		timer.Reset(idleMax - idle)
	}
}
