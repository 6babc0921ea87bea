package stage

import (
	"context"
	"io"
	"time"
)

// Chunk is all output artifacts of one sequence.
type Chunk struct {
	Sequence int64
	// Final says that it is the last one.
	Final  bool
	Values Values
	Facts  ChunkFact
}

// Next gives the outputs in strict order of their sequences, each once. It waits for the next one and ends with io.EOF after the last of a
// session whose count is known. A session that failed still gives what was complete before it, then its error; one that was cancelled
// or closed gives no more.
func (x *Session) Next(ctx context.Context) (Chunk, error) {
	for {
		x.sched.mu.Lock()
		out, ok, err := x.pop(time.Now())
		var wake <-chan struct{}
		if !ok && err == nil {
			wake = x.waiting()
		}
		x.sched.mu.Unlock()
		if ok || err != nil {
			return out, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return out, context.Cause(ctx)
		}
	}
}

// emit moves the border of what Next may give over every sequence whose outputs are all there.
func (x *Session) emit(now time.Time) {
	before := x.emitted
	for x.outputsFull(x.emitted) {
		x.facts.emitted(x.emitted, now)
		x.emitted++
	}
	if x.emitted != before {
		x.changed()
	}
}

func (x *Session) outputsFull(seq int64) bool {
	for _, e := range x.sched.graph.sinks {
		if !x.lanes[e].full(seq) {
			return false
		}
	}
	return true
}

func (x *Session) pop(now time.Time) (Chunk, bool, error) {
	switch {
	case x.taken == x.count:
		return Chunk{}, false, io.EOF
	case x.dropped || x.taken == x.emitted:
		return Chunk{}, false, x.failure
	}
	graph, seq := x.sched.graph, x.taken
	out := Chunk{Sequence: seq, Final: seq == x.count-1, Values: make(Values, len(graph.sinks)), Facts: x.facts.chunk(seq)}
	for k, e := range graph.sinks {
		out.Values[k] = Value{port: graph.edges[e].artifact, v: x.lanes[e].take(seq).value}
	}
	x.taken++
	x.sched.pump(now)
	return out, true, nil
}
