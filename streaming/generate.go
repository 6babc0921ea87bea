package streaming

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"telefuser/workers/media"
)

// leaseQuiet is how long a wait for the model may take before its session is told.
const leaseQuiet = 250 * time.Millisecond

// generate makes chunks until the source has no more. A chunk is asked for only when somebody can see it, there is room for it and, in latest delivery, no
// earlier than its time needs, so that a control acts on what is shown next.
func (r *run) generate(ctx context.Context) error {
	defer r.seat.Yield() // its last frames are shown without the model
	var ahead foresight
	for {
		if err := r.awaitTurn(ctx, &ahead); err != nil {
			return err
		}
		wanted := time.Now()
		if err := r.acquire(ctx); err != nil {
			return err
		}
		chunk, err := r.next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		now := time.Now()
		it := &item{Chunk: chunk, asked: wanted, ready: now, made: now.Sub(wanted)}
		it.actions = r.inbox.settle(chunk.Index, chunk.ControlIDs)
		length := time.Duration(len(chunk.Frames)) * r.pacer.period
		ahead.made(it.made, length)
		r.measureChunk(it, length)
		r.pacer.timeline.add(length)
		if lost := r.chunks.put(it); lost != nil {
			r.pacer.timeline.add(-time.Duration(len(lost.Frames)) * r.pacer.period)
			r.drop(len(lost.Frames))
			for _, f := range lost.Frames {
				f.Release()
			}
		}
	}
}

// awaitTurn waits until the next chunk is wanted. The model is free for others meanwhile.
func (r *run) awaitTurn(ctx context.Context, ahead *foresight) error {
	if ahead.n == 0 { // the first chunk is made before anybody comes, so that they need not wait
		return nil
	}
	if !r.watched(r.link.view()) {
		r.seat.Yield()
		if _, err := r.link.await(ctx, r.watched); err != nil {
			return err
		}
	}
	if !r.lossless() {
		if ask := ahead.ask(r.pacer.timeline.until(time.Now())); time.Until(ask) > 0 {
			r.seat.Yield()
			return sleepUntil(ctx, ask)
		}
		return nil
	}
	if !r.chunks.hasRoom() {
		r.seat.Yield()
	}
	return r.chunks.awaitRoom(ctx)
}

// watched says whether frames would be seen: by the controller where none may be lost, else by anybody.
func (r *run) watched(v view) bool {
	if v.pub == nil || v.away {
		return false
	}
	if r.lossless() {
		return v.controller
	}
	return v.clients > 0
}

// acquire waits for the model, and says so when it takes a while.
func (r *run) acquire(ctx context.Context) error {
	granted := r.seat.Ask()
	select {
	case <-granted:
		return nil
	case <-time.After(leaseQuiet):
	case <-ctx.Done():
		r.seat.Yield()
		return context.Cause(ctx)
	}
	ticker := time.NewTicker(leaseQuiet)
	defer ticker.Stop()
	for said := ""; ; {
		position, parked := r.seat.Place()
		stage := "lease_queued"
		if parked {
			stage = "lease_parked"
		}
		if now := fmt.Sprint(stage, position); position > 0 && now != said {
			said = now
			r.out.status(stage, nil, fields{"queue_position": position})
		}
		select {
		case <-granted:
			r.out.status("lease_granted", nil, nil)
			return nil
		case <-ticker.C:
		case <-ctx.Done():
			r.seat.Yield()
			return context.Cause(ctx)
		}
	}
}

// next makes one chunk with the controls that have come. The caller holds the model, which may change hands when it is made.
func (r *run) next(ctx context.Context) (Chunk, error) {
	defer r.seat.Border()
	keys, err := r.inbox.flush(ctx, r.source)
	if err != nil {
		return Chunk{}, r.broken(ctx, "control", err)
	}
	r.mu.Lock()
	index := int(r.made)
	r.made++
	r.mu.Unlock()
	r.out.status("generating_chunk", &index, fields{"controls": keyList(keys), "prefetched": false})
	const batch = 1 // the holder of the model makes its own chunk and nobody else's
	r.stats.begin(batch, time.Now())
	chunk, err := r.source.Next(ctx)
	r.stats.end(time.Now())
	if errors.Is(err, io.EOF) {
		return Chunk{}, io.EOF
	}
	if err != nil {
		return Chunk{}, r.broken(ctx, "next", err)
	}
	spec := r.claim.session.Spec
	for _, f := range chunk.Frames {
		if f.Width != spec.Width || f.Height != spec.Height {
			return Chunk{}, r.broken(ctx, "next", fmt.Errorf("a frame of %dx%d in a session of %dx%d", f.Width, f.Height, spec.Width, spec.Height))
		}
	}
	if err := checkSound(chunk, r.pacer.period); err != nil {
		return Chunk{}, r.broken(ctx, "next", err)
	}
	r.metrics.outputs.WithLabelValues("ok").Inc()
	r.metrics.batch(batch)
	return chunk, nil
}

// checkSound refuses a sound that is not as long as its frames are shown, to a hundredth of a second.
func checkSound(c Chunk, period time.Duration) error {
	if c.Sound == nil {
		return nil
	}
	shown := time.Duration(len(c.Frames)) * period
	heard := time.Duration(c.Sound.Moments()) * time.Second / media.SoundRate
	if c.Sound.Channels < 1 || c.Sound.Channels > 2 || (heard-shown).Abs() > 10*time.Millisecond {
		return fmt.Errorf("%s of sound on %d channels with %s of frames", heard, c.Sound.Channels, shown)
	}
	return nil
}

// broken counts a source's failure, unless the run is ending anyway.
func (r *run) broken(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.metrics.outputs.WithLabelValues("error").Inc()
	r.metrics.failed(err)
	return fmt.Errorf("streaming: %s of %s: %w", what, r.claim.session.ID, err)
}
