package api

import (
	"context"
	"sync"
	"time"
)

// readyAge and notReadyAge are how long one answer is good for, so that any number of probes costs few looks. A no is short-lived: whoever
// starts the server waits for the first yes.
const (
	readyAge    = time.Second
	notReadyAge = 50 * time.Millisecond
)

// readiness remembers the last look at what the server stands on.
type readiness struct {
	check func(ctx context.Context) error

	mu     sync.Mutex
	asked  time.Time
	result error
}

// get answers nil when requests can be taken.
func (r *readiness) get(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	age := readyAge
	if r.result != nil {
		age = notReadyAge
	}
	if !r.asked.IsZero() && time.Since(r.asked) < age {
		return r.result
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyCheckTimeout)
	defer cancel()
	r.result = r.check(ctx)
	r.asked = time.Now()
	return r.result
}

// checkReady looks at Redis, the store and whatever the program adds.
func (s *Server) checkReady(ctx context.Context) error {
	if err := s.deps.Jobs.Ping(ctx); err != nil {
		return err
	}
	if err := s.deps.Store.Check(ctx); err != nil {
		return err
	}
	if s.deps.Ready != nil {
		return s.deps.Ready(ctx)
	}
	return nil
}

// isReady is false from the moment that the server is told to stop.
func (s *Server) isReady(ctx context.Context) bool {
	return !s.draining.Load() && s.ready.get(ctx) == nil
}
