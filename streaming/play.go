package streaming

import (
	"context"
	"errors"
	"time"

	"telefuser/workers/media"
)

// The bounds of the screen.
const (
	// subscribeTimeout is how long lossless delivery waits for the controller to receive the track before it goes on anyhow.
	subscribeTimeout = 5 * time.Second
	// writeTimeout bounds one write of a frame.
	writeTimeout = 2 * time.Second
	// lastFrames is how long the last frames have to arrive before the track closes, where nobody confirms them.
	lastFrames = 300 * time.Millisecond
)

// play shows the chunks that are made, and ends the session well after the last.
func (r *run) play(ctx context.Context) error {
	for {
		it, err := r.chunks.take(ctx)
		if err != nil {
			return err
		}
		if it == nil {
			return r.finish(ctx)
		}
		if it.Sound != nil {
			r.hearSound(media.Sound{Channels: it.Sound.Channels}, 0) // its track is there before the first frame is
		}
		if err := r.awaitScreen(ctx); err != nil {
			return err
		}
		out, err := r.pacer.play(ctx, it)
		r.shown(it, out, err == nil)
		if err != nil {
			return err
		}
	}
}

// awaitScreen waits until somebody watches, and before the first frame of a lossless session until the track is received.
func (r *run) awaitScreen(ctx context.Context) error {
	v, err := r.link.await(ctx, r.watched)
	if err != nil || !r.lossless() || !r.pacer.base.IsZero() {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, subscribeTimeout)
	defer cancel()
	if err := v.pub.WaitSubscribed(timed, r.claim.session.Spec.Controller); err != nil && ctx.Err() == nil {
		r.log.InfoContext(ctx, "controller does not receive the track yet", "error", err)
	}
	return nil
}

// show sends one frame when it is due. Where none may be lost it is sent again once the room is back; else it is dropped when it would have been shown.
func (r *run) show(ctx context.Context, f media.Frame, pts time.Duration, due time.Time) error {
	for began := time.Now(); ; {
		v := r.link.view()
		err := errNotThere
		if v.pub != nil && (!r.lossless() || v.controller) {
			var encode Encoding
			timed, cancel := context.WithTimeout(ctx, writeTimeout)
			encode, err = v.pub.WriteFrame(timed, f, pts, due)
			cancel()
			if err == nil {
				r.showed(encode)
				return nil
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !r.lossless() {
			r.drop(1)
			return sleepUntil(ctx, due)
		}
		if v.pub != nil && v.controller && time.Since(began) > r.cfg.RejoinTimeout {
			return &endError{reason: ReasonMediaLost, err: err}
		}
		if err := sleepUntil(ctx, time.Now().Add(r.pacer.period)); err != nil {
			return err
		}
	}
}

// hearSound sends what is heard with a frame. A session goes on without its sound, and says so once.
func (r *run) hearSound(s media.Sound, pts time.Duration) {
	v := r.link.view()
	if v.pub == nil || r.mute {
		return
	}
	if err := v.pub.WriteSound(s, pts); errors.Is(err, media.ErrEncoder) {
		r.mute = true
		r.log.Warn("the session has no sound", "error", err)
	}
}

// errNotThere says that nobody would see a frame.
var errNotThere = errors.New("streaming: nobody is there")

// showed counts a frame that was sent, and times the first.
func (r *run) showed(encode Encoding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts.PublishedFrames++
	total := encode.Took.Nanoseconds()
	if r.facts.EncodeNS != nil {
		total += *r.facts.EncodeNS
	}
	r.facts.EncodeNS = &total
	r.metrics.frames.Inc()
	r.metrics.encode.Observe(encode.Took.Seconds())
	r.metrics.encodeCPU.Add(encode.CPU.Seconds())
	now := time.Now()
	r.metrics.gauges.aggregate.add(now)
	r.rate.add(now)
	if r.shownAny {
		return
	}
	r.shownAny = true
	r.spans.first.End()
	r.spans.first = nil
	if r.facts.FirstFrameNS == nil {
		ns := time.Since(r.claimed).Nanoseconds()
		r.facts.FirstFrameNS = &ns
	}
	facts := r.facts
	r.record.put(note{first: true, facts: &facts})
}

// drop counts frames that were made and not sent.
func (r *run) drop(frames int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts.DroppedFrames += int64(frames)
	r.metrics.dropped.Add(float64(frames))
}

// finish says done, and in lossless delivery waits for the client's count with the track open.
func (r *run) finish(ctx context.Context) error {
	if r.lossless() {
		r.inbox.ask()
	}
	facts := r.snapshot()
	r.out.status("runtime_summary", nil, fields{"runtime_metrics": r.runtimeMetrics(), "scheduler_metrics": r.schedulerMetrics()})
	r.out.done(fields{"total_chunks": facts.Chunks, "published_frames": facts.PublishedFrames, "reason": ReasonFinished})
	r.enter(StatusDraining, note{facts: &facts})
	if !r.lossless() {
		if err := sleepUntil(ctx, time.Now().Add(lastFrames)); err != nil {
			return err
		}
		return endWith(ReasonFinished)
	}
	timer := time.NewTimer(r.cfg.AckTimeout)
	defer timer.Stop()
	var confirmed any
	outcome := OutcomeTimeout
	select {
	case n := <-r.inbox.acks:
		confirmed, outcome = n, OutcomeShort
		if n >= facts.PublishedFrames {
			outcome = OutcomeVerified
		}
		r.mu.Lock()
		r.facts.ConfirmedFrames = &n
		r.mu.Unlock()
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.mu.Lock()
	r.outcome = outcome
	r.mu.Unlock()
	r.out.status("delivery", nil, fields{"outcome": outcome, "published_frames": facts.PublishedFrames, "confirmed_frames": confirmed})
	return endWith(ReasonFinished)
}
