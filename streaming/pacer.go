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
	// write makes one frame ready, which it may do before its time, and returns when it was sent, shortly after it is due.
	write func(ctx context.Context, f media.Frame, pts time.Duration, due time.Time) error
	// hear takes what is heard while one frame is shown, right after it was sent. Sound goes with its frame: what is dropped takes it along.
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
	if p.base.IsZero() {
		start = onBeat(start, p.period)
	}
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
		pts := max(due.Sub(p.base), p.last+time.Millisecond)
		if err := p.write(ctx, frame, pts, due); err != nil {
			return out, err
		}
		if it.Sound != nil {
			p.hear(it.Sound.Part(i, i+1, len(it.Frames)), pts)
		}
		frame.Release()
		p.last = pts
		out.frames++
	}
	p.next = start.Add(length)
	out.ended = time.Now()
	return out, nil
}

// onBeat is the first moment from t on at which sessions of this period show a frame: those that begin on one beat wake the process together, and not each by itself.
func onBeat(t time.Time, period time.Duration) time.Time {
	return t.Add((period - time.Duration(t.UnixNano())%period) % period)
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
