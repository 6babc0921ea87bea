package streaming

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The bounds of an end.
const (
	// lastWordsTimeout is how long the last words may take to be said.
	lastWordsTimeout = 800 * time.Millisecond
	// farewellTimeout is how long those who heard them may take to leave before the room is closed under them, which cuts their connections.
	farewellTimeout = 500 * time.Millisecond
	// recordTimeout bounds the writes of an end, retryPause is the pause between their tries.
	recordTimeout = 15 * time.Second
	retryPause    = 200 * time.Millisecond
	// releaseTimeout bounds the release of the slot; a heartbeat mends one that was not released.
	releaseTimeout = 2 * time.Second
)

// conclude writes what became of the session, says so in the room, frees the slot and closes the room. The caller leaves it.
func (r *run) conclude(ctx context.Context, cause error, freed func(), speaker *sync.WaitGroup) {
	o := conclude(cause)
	r.inbox.finish()
	over := r.settle(ctx, &o)
	r.lastWords(&o, over)
	r.out.close()
	r.awaitSpeaker(speaker)
	r.insist(ctx, "release", releaseTimeout, r.claim.release)
	freed()
	if over {
		r.awaitGuests(ctx)
		closing, cancel := context.WithTimeout(ctx, roomCloseTimeout)
		defer cancel()
		if err := r.claim.store.closeRoom(closing, r.rooms, r.claim.session.Room); err != nil {
			r.log.WarnContext(ctx, "room not closed; the reaper tries again", "error", err)
		}
	}
	r.traced(o.reason)
	r.log.InfoContext(ctx, "session left", "reason", o.reason, "over", over, "cause", cause)
}

// settle writes the end, or the hand-over, into the record. It answers whether the session is over.
func (r *run) settle(ctx context.Context, o *outcome) (over bool) {
	r.mu.Lock()
	facts, state, verified := r.facts, r.state, r.outcome
	r.mu.Unlock()
	switch {
	case o.gone && o.reason == "":
		return false
	case o.handOver:
		queued := false
		ok := r.insist(ctx, "hand over", recordTimeout, func(ctx context.Context) (err error) {
			queued, err = r.claim.handOver(ctx, state, facts, o.charge, o.reason)
			return err
		})
		return ok && !queued
	}
	most := recordTimeout
	if o.reason == ReasonReplaced {
		most = releaseTimeout // most likely it is not ours any more
	}
	return r.insist(ctx, "close", most, func(ctx context.Context) error {
		err := r.claim.close(ctx, o.reason, o.message, facts, verified)
		o.gone = o.gone || errors.Is(err, ErrStale) // whoever has it speaks for it
		return err
	})
}

// insist writes until Redis has answered, for most at the longest; then the lease runs out and the reaper decides. A stale epoch has nothing to write.
func (r *run) insist(ctx context.Context, what string, most time.Duration, write func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		err := write(ctx)
		if err == nil {
			return true
		}
		if errors.Is(err, ErrStale) {
			r.log.InfoContext(ctx, "record is not ours any more", "what", what, "error", err)
			return false
		}
		if sleepUntil(ctx, time.Now().Add(retryPause)) != nil {
			r.log.WarnContext(ctx, "record not written", "what", what, "error", err)
			return false
		}
	}
}

// lastWords tell the room why no more frames come. A session that finished has said so.
func (r *run) lastWords(o *outcome, over bool) {
	facts := r.snapshot()
	switch {
	case !over && !o.gone:
		r.out.status("reassigning", nil, fields{"reason": o.reason})
	case !over || o.reason == ReasonFinished:
	case EndStatus(o.reason) == StatusFailed:
		message := o.message
		if message == "" {
			message = endings[o.reason].message
		}
		r.out.fail("worker_failed", message)
	default:
		r.out.done(fields{"total_chunks": facts.Chunks, "published_frames": facts.PublishedFrames, "reason": o.reason})
	}
}

// awaitSpeaker gives the last words their time, where there is a room to say them in or it is still being entered: a source may fail sooner than that.
func (r *run) awaitSpeaker(speaker *sync.WaitGroup) {
	if v := r.link.view(); v.pub == nil && v.entered {
		return
	}
	said := make(chan struct{})
	go func() { // ends with the speaker, which leave ends at the latest
		speaker.Wait()
		close(said)
	}()
	timer := time.NewTimer(lastWordsTimeout)
	defer timer.Stop()
	select {
	case <-said:
	case <-timer.C:
	}
}

// awaitGuests waits until everybody has left who hears that it is over.
func (r *run) awaitGuests(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, farewellTimeout)
	defer cancel()
	if _, err := r.link.await(ctx, func(v view) bool { return v.pub == nil || v.clients == 0 }); err != nil {
		r.log.DebugContext(ctx, "the room is closed under its guests")
	}
}
