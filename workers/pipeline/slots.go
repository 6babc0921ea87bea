package pipeline

import (
	"context"
	"fmt"
	"sync"

	"telefuser/workers/stage"
)

// slotsMax bounds the sessions that a scheduler holds; engines hold fewer, as the contract says.
const slotsMax = 64

// releaser is a session that can let go of what its stages keep for it, once.
type releaser interface{ release() error }

// slots run all sessions of one pipeline on one scheduler. A session has the name of a slot there; a name is used again with a higher
// epoch, and never after its clean-up failed.
type slots[S releaser] struct {
	scheduler *stage.Scheduler
	stop      context.CancelFunc
	ended     chan error

	mu  sync.Mutex
	all []slot[S]
}

// slot is one name.
type slot[S releaser] struct {
	epoch   int64
	taken   bool
	session S
}

// startSlots builds the graph, whose stages may use the slots, and sets it to work.
func startSlots[S releaser](spec func(t *slots[S]) stage.Spec) (*slots[S], error) {
	t := &slots[S]{ended: make(chan error, 1)} // one answer, from the one goroutine below
	graph, err := stage.Build(spec(t))
	if err != nil {
		return nil, fmt.Errorf("pipeline: stages: %w", err)
	}
	if t.scheduler, err = stage.New(graph, stage.Config{SessionsMax: slotsMax}); err != nil {
		return nil, fmt.Errorf("pipeline: stages: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.stop = cancel
	go func() { t.ended <- t.scheduler.Run(ctx) }()
	return t, nil
}

// open gives a session a slot and its place in the scheduler.
func (t *slots[S]) open(s S, c *course) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := 0
	for at < len(t.all) && t.all[at].taken {
		at++
	}
	if at == len(t.all) {
		t.all = append(t.all, slot[S]{})
	}
	free := &t.all[at]
	flow, err := t.scheduler.Open(slotName(at), free.epoch+1)
	if err != nil {
		return fmt.Errorf("pipeline: stages: %w", err)
	}
	free.epoch++
	free.session, free.taken = s, true
	c.flow, c.scheduler, c.slot = flow, t.scheduler, at
	if c.live {
		return nil
	}
	return flow.FinishInputs(c.chunks())
}

func slotName(slot int) string { return fmt.Sprintf("slot %d", slot) }

// free gives the slot back.
func (t *slots[S]) free(at int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[at] = slot[S]{epoch: t.all[at].epoch}
}

// release is the ReleaseFunc of the stage that keeps most for a session.
func (t *slots[S]) release(_ context.Context, key stage.SessionKey) error {
	t.mu.Lock()
	var of S
	found := false
	for i, slot := range t.all {
		if slotName(i) == key.Session && slot.epoch == key.Epoch && slot.taken {
			of, found = slot.session, true
		}
	}
	t.mu.Unlock()
	if !found {
		return nil
	}
	return of.release()
}

// close ends the scheduler and waits for it.
func (t *slots[S]) close() error {
	t.stop()
	if err := <-t.ended; err != nil {
		return fmt.Errorf("pipeline: stages: %w", err)
	}
	return nil
}
