package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"telefuser/internal/bench"
	"telefuser/internal/bench/viewer"
)

// controlsAfter is how long after the last control its frames are waited for.
const controlsAfter = 5 * time.Second

// controls measures, in one session, the time from the moment at which a control is meant to be sent to the arrival of the first frame that was made with it.
func (b *benchSessions) controls(ctx context.Context, s *liveStack) (*delayResult, error) {
	p, err := b.fly(ctx, s, 0)
	if err != nil {
		return nil, err
	}
	defer p.land(ctx)
	r := &delayResult{Machine: bench.ReadMachine()}
	keys := [][]string{{"w"}, {"w", "l"}, {"d"}, {"w", "j"}}
	due := b.moments(time.Now().Add(b.every))
	for i, at := range due {
		if err := pause(ctx, time.Until(at)); err != nil {
			return nil, err
		}
		if err := p.hold(strconv.Itoa(i), keys[i%len(keys)]...); err != nil {
			return nil, err
		}
	}
	if err := pause(ctx, controlsAfter); err != nil {
		return nil, err
	}
	return r, b.matchControls(p, due, r)
}

// matchControls finds the frame of every control.
func (b *benchSessions) matchControls(p *pilot, due []time.Time, r *delayResult) error {
	arrivals := p.trace.Between(time.Time{}, time.Now())
	if len(arrivals) == 0 {
		return errors.New("no frames")
	}
	clock := viewer.NewClock(arrivals)
	p.mu.Lock()
	defer p.mu.Unlock()
	var took []time.Duration
	for i, at := range due {
		id := strconv.Itoa(i)
		r.Samples++
		if p.replaced[id] {
			r.Superseded++
			continue
		}
		chunk, applied := p.applied[id]
		begun, shown := p.begun[chunk]
		frame, arrived := clock.Sent(arrivals, begun, b.period())
		if !applied || !shown || !arrived {
			r.Failed++
			continue
		}
		took = append(took, frame.At.Sub(at))
	}
	r.MS = bench.NewQuantiles(took, r.Failed)
	r.Steps = []namedQuantiles{{Name: "frame arrived", MS: r.MS}}
	if n := len(p.begun); n > 0 {
		ms := float64(p.frames) / float64(n) * float64(b.period()) / float64(time.Millisecond)
		r.ChunkMS = &ms
	}
	return nil
}
