package streaming

import (
	"context"
	"errors"
	"sync"
	"time"
)

// recordEvery is the shortest pause between two writes of a session's record, unless one is urgent.
const recordEvery = 500 * time.Millisecond

// recorder writes what a run knows into the record, in a goroutine of its own. Notes that wait become one; none is lost while Redis is away.
type recorder struct {
	write func(ctx context.Context, n note) error
	// lost is told that the session is no longer ours.
	lost func(error)

	mu     sync.Mutex
	note   note
	dirty  bool
	urgent chan struct{}
	some   chan struct{}
}

func newRecorder(write func(context.Context, note) error, lost func(error)) *recorder {
	return &recorder{write: write, lost: lost, urgent: make(chan struct{}, 1), some: make(chan struct{}, 1)}
}

// put merges n into what waits.
func (r *recorder) put(n note) {
	r.mu.Lock()
	r.note.merge(n)
	r.dirty = true
	r.mu.Unlock()
	nudge(r.some)
	if n.status != "" || n.first || n.presence != nil {
		nudge(r.urgent)
	}
}

// merge lets what n says win.
func (a *note) merge(n note) {
	if n.status != "" {
		a.status = n.status
	}
	if n.facts != nil {
		a.facts = n.facts
	}
	if n.state != nil {
		a.state = n.state
	}
	if n.outcome != "" {
		a.outcome = n.outcome
	}
	if n.presence != nil {
		a.presence = n.presence
	}
	a.first = a.first || n.first
	a.active = a.active || n.active
}

// run writes until ctx ends.
func (r *recorder) run(ctx context.Context) {
	for {
		select {
		case <-r.some:
		case <-ctx.Done():
			return
		}
		r.flush(ctx)
		select {
		case <-r.urgent:
			nudge(r.some)
		case <-time.After(recordEvery):
		case <-ctx.Done():
			return
		}
	}
}

// flush writes what waits. What Redis did not take waits on.
func (r *recorder) flush(ctx context.Context) {
	r.mu.Lock()
	n, dirty := r.note, r.dirty
	r.note, r.dirty = note{}, false
	r.mu.Unlock()
	if !dirty {
		return
	}
	err := r.write(ctx, n)
	switch {
	case err == nil:
	case errors.Is(err, ErrStale):
		r.lost(err)
	default:
		r.mu.Lock()
		newer := r.note
		r.note = n
		r.note.merge(newer)
		r.dirty = true
		r.mu.Unlock()
		nudge(r.some)
	}
}
