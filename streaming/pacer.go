package streaming

import (
	"context"
	"time"

	"telefuser/workers/media"
)

// pacer shows the frames of chunks at the constant cadence of 1/FPS on the monotonic clock, by absolute deadlines. It never makes up for lost time with a
// burst: where the source is late everything moves back; where the writer is late, frames are dropped (latest) or everything moves back (lossless).
type pacer struct {
	period   time.Duration
	lossless bool
	// write sends one frame now.
	write func(ctx context.Context, f media.Frame, pts time.Duration) error
	// hear takes what is heard while one frame is shown, right before it. Sound goes with its frame: what is dropped takes it along.
	hear func(s media.Sound, pts time.Duration)

	timeline *timeline

	// next is when the first frame of the next chunk is due, base when the first of all was, last the latest presentation time.
	next, base time.Time
	last       time.Duration
}

// shown is what became of a chunk.
type shown struct {
	frames, dropped int
	begun, ended    time.Time
}

// play shows one chunk, releases its frames and answers what became of it; its error ends the session.
func (p *pacer) play(ctx context.Context, it *item) (shown, error) {
	length := time.Duration(len(it.Frames)) * p.period
	start := latestOf(time.Now(), p.next)
	p.timeline.begin(start, length)
	if p.base.IsZero() {
		p.base, p.last = start, -time.Millisecond
	}
	out := shown{begun: start}
	for i, frame := range it.Frames {
		due := start.Add(time.Duration(i) * p.period)
		if late := time.Since(due); late >= p.period {
			if !p.lossless {
				out.dropped++
				frame.Release()
				continue
			}
			start, due = start.Add(late), due.Add(late)
		}
		if err := sleepUntil(ctx, due); err != nil {
			return out, err
		}
		pts := max(due.Sub(p.base), p.last+time.Millisecond)
		if it.Sound != nil {
			p.hear(it.Sound.Part(i, i+1, len(it.Frames)), pts)
		}
		if err := p.write(ctx, frame, pts); err != nil {
			return out, err
		}
		frame.Release()
		p.last = pts
		out.frames++
	}
	p.next = start.Add(length)
	out.ended = time.Now()
	return out, nil
}

// latestOf is the last of moments.
func latestOf(moments ...time.Time) time.Time {
	last := moments[0]
	for _, m := range moments[1:] {
		if m.After(last) {
			last = m
		}
	}
	return last
}

// sleepUntil waits for a moment on the monotonic clock.
func sleepUntil(ctx context.Context, moment time.Time) error {
	d := time.Until(moment)
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
