package stage

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Cancel stops the session at once and does not wait: nothing more is admitted, invocations see their context end with cause, and Next
// fails with it. A nil cause means ErrCancelled. Clean-up goes on by itself. A session that has stopped before keeps its first cause.
func (x *Session) Cancel(cause error) {
	if cause == nil {
		cause = ErrCancelled
	}
	x.sched.mu.Lock()
	defer x.sched.mu.Unlock()
	x.drop(cause, time.Now())
}

// Close cancels the session with ErrClosed and waits until its clean-up is over. It fails with an error that is ErrPoisoned when a stage
// could not release its state, a slot was left, or the drain timeout passed. Closing twice waits and answers the same.
// A stage's function must not call it: it would wait for itself.
func (x *Session) Close(ctx context.Context) error {
	x.sched.mu.Lock()
	x.drop(ErrClosed, time.Now())
	for x.phase != phaseEnded && !x.poisoned {
		wake := x.waiting()
		x.sched.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return fmt.Errorf("stage: close %q: %w", x.key.Session, context.Cause(ctx))
		}
		x.sched.mu.Lock()
	}
	defer x.sched.mu.Unlock()
	if x.cleanErr != nil {
		return fmt.Errorf("stage: close %q: %w", x.key.Session, errors.Join(ErrPoisoned, x.cleanErr))
	}
	return nil
}

// drop stops the session and lets go of the outputs that wait.
func (x *Session) drop(cause error, now time.Time) {
	for _, e := range x.sched.graph.sinks {
		x.lanes[e].dropFull(0)
	}
	if x.taken != x.emitted {
		x.dropped, x.emitted = true, x.taken
	}
	x.sched.stop(x, cause, now)
	x.changed()
}
