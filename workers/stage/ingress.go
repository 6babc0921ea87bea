package stage

import (
	"context"
	"fmt"
	"time"
)

// TryPush admits external artifacts of one sequence, all of them or none. False means that a slot is missing for at least one: nothing
// has changed, and Credits or Push tell when to come again. Sequences may come in any order within the edges' windows. Errors are
// ErrSequence, ErrRepeated, *ArtifactError, or why the session stopped.
func (x *Session) TryPush(seq int64, values ...Value) (bool, error) {
	x.sched.mu.Lock()
	defer x.sched.mu.Unlock()
	return x.push(seq, values, time.Now())
}

// Push is TryPush that waits for the slots.
func (x *Session) Push(ctx context.Context, seq int64, values ...Value) error {
	for {
		x.sched.mu.Lock()
		ok, err := x.push(seq, values, time.Now())
		var wake <-chan struct{}
		if !ok && err == nil {
			wake = x.waiting()
		}
		x.sched.mu.Unlock()
		if ok || err != nil {
			return err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (x *Session) push(seq int64, values Values, now time.Time) (bool, error) {
	if x.phase != phaseOpen {
		return false, x.failure
	}
	if err := x.checkPush(seq, values); err != nil {
		return false, fmt.Errorf("stage: push sequence %d of %q: %w", seq, x.key.Session, err)
	}
	graph := x.sched.graph
	for _, v := range values {
		for _, e := range graph.external[v.port] {
			if !x.lanes[e].room(seq) {
				return false, nil
			}
		}
	}
	x.last = max(x.last, seq)
	for _, v := range values {
		for _, e := range graph.external[v.port] {
			x.lanes[e].fill(seq, v.v, now)
		}
		x.facts.accepted(seq, v.port == graph.anchor, now)
	}
	x.sched.pump(now)
	return true, nil
}

// checkPush finds what no waiting would mend.
func (x *Session) checkPush(seq int64, values Values) error {
	if seq < 0 || x.count >= 0 && seq >= x.count {
		return fmt.Errorf("%w: the session has %d", ErrSequence, x.count)
	}
	if len(values) == 0 {
		return &ArtifactError{Fault: "nothing to push"}
	}
	for i, v := range values {
		edges := x.sched.graph.external[v.port]
		if len(edges) == 0 {
			return &ArtifactError{Artifact: portName(v.port), Fault: "not external in this graph, or of another type"}
		}
		for _, other := range values[:i] {
			if other.port == v.port {
				return fmt.Errorf("%w: %q", ErrRepeated, portName(v.port))
			}
		}
		for _, e := range edges {
			if x.lanes[e].known(seq) {
				return fmt.Errorf("%w: %q", ErrRepeated, portName(v.port))
			}
		}
	}
	return nil
}

// Credits is how many more sequences of an external artifact find room now; 0 for a session that has stopped.
func (x *Session) Credits(artifact Port) int {
	x.sched.mu.Lock()
	defer x.sched.mu.Unlock()
	edges := x.sched.graph.external[artifact]
	if x.phase != phaseOpen || len(edges) == 0 {
		return 0
	}
	free := x.lanes[edges[0]].free()
	for _, e := range edges[1:] {
		free = min(free, x.lanes[e].free())
	}
	return free
}

// FinishInputs tells how many sequences the session has in all; 0 ends a session that nothing was pushed to. It must come before any
// artifact of the final sequence is pushed, so that every stage learns from Invocation.Final which one is the last.
func (x *Session) FinishInputs(count int64) error {
	x.sched.mu.Lock()
	defer x.sched.mu.Unlock()
	switch {
	case x.phase != phaseOpen:
		return x.failure
	case x.count == count && count >= 0:
		return nil
	case count < 0, x.count >= 0, count <= x.last+1 && count != 0, count == 0 && x.last >= 0:
		return fmt.Errorf("stage: finish %q after %d sequences: %w: told %d before, %d was pushed", x.key.Session, count, ErrSequence, x.count, x.last)
	}
	x.count = count
	x.changed()
	return nil
}
