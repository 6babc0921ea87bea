package streaming

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// worker is one engine with its slots.
type worker struct {
	cfg     PoolConfig
	store   *Store
	engine  Engine
	rooms   Rooms
	lease   *ExecutionLease
	metrics *poolMetrics
	stats   *workerStats
	log     *slog.Logger
	id      string
	devices []string
	// wake and beat hold one nudge each: there may be a session to claim; a session may not be ours any more.
	wake, beat chan struct{}

	mu       sync.Mutex
	runs     map[held]*run
	was      bool
	draining bool
}

// heartbeatTimeout bounds one heartbeat.
const heartbeatTimeout = 2 * time.Second

// run claims and runs sessions until ctx ends, then drains.
func (w *worker) run(ctx context.Context) {
	alive := context.WithoutCancel(ctx)
	beating, stopBeating := context.WithCancel(alive)
	var heart, sessions sync.WaitGroup
	heart.Go(func() { w.beatOn(beating) })
	w.claimOn(ctx, alive, &sessions)

	w.mu.Lock()
	w.draining = true
	w.mu.Unlock()
	nudge(w.beat)
	w.drain(&sessions)
	stopBeating()
	heart.Wait()
	leaving, cancel := context.WithTimeout(alive, heartbeatTimeout)
	defer cancel()
	if err := w.store.leave(leaving, w.id); err != nil {
		w.log.WarnContext(ctx, "worker not taken out of the registry; it expires", "error", err)
	}
}

// drain waits for the sessions to end, and after the grace ends them.
func (w *worker) drain(sessions *sync.WaitGroup) {
	done := make(chan struct{})
	go func() { // ends with the sessions, which are always waited for
		sessions.Wait()
		close(done)
	}()
	timer := time.NewTimer(max(0, w.cfg.Grace))
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	}
	for _, r := range w.all() {
		r.stop(errDrained)
	}
	<-done
}

// claimOn fills the slots, whenever nudged and from time to time, until ctx ends.
func (w *worker) claimOn(ctx, alive context.Context, sessions *sync.WaitGroup) {
	ticker := time.NewTicker(w.cfg.PollEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if w.claimOne(ctx, alive, sessions) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-ticker.C:
		}
	}
}

// claimOne claims a session if there is a slot and an engine for it, and starts it.
func (w *worker) claimOne(ctx, alive context.Context, sessions *sync.WaitGroup) bool {
	if w.status() != WorkerReady || len(w.all()) >= w.cfg.SessionsPerWorkerMax {
		return false
	}
	c, err := w.store.claim(ctx, w.id, w.cfg.Pipeline)
	if err != nil || c == nil {
		if err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "no claim", "error", err)
		}
		return false
	}
	spec := c.session.Spec
	idle := spec.ControlIdleTimeout
	if spec.Delivery == DeliveryLossless {
		idle = 0 // it needs no controls to be wanted
	}
	r := newRun(w.cfg, c, w.engine, w.rooms, w.lease.Sit(idle), w.metrics, w.stats, w.log)
	if c.session.Epoch > 1 {
		w.metrics.migration.Observe(c.waited.Seconds())
	}
	key := held{c.session.ID, c.session.Epoch}
	running := r.prepare(alive)
	w.mu.Lock()
	w.runs[key] = r
	w.mu.Unlock()
	free := sync.OnceFunc(func() {
		w.mu.Lock()
		delete(w.runs, key)
		w.mu.Unlock()
		r.over()
		nudge(w.wake)
	})
	sessions.Go(func() {
		defer free()
		r.do(running, free)
	})
	return true
}

// all are the runs now.
func (w *worker) all() []*run {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]*run, 0, len(w.runs))
	for _, r := range w.runs {
		out = append(out, r)
	}
	return out
}

// runsSession says whether the session is here.
func (w *worker) runsSession(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.runs {
		if key.id == id {
			return true
		}
	}
	return false
}

// status is what the worker says of itself.
func (w *worker) status() WorkerStatus {
	ready := w.engine.Ready() == nil
	w.mu.Lock()
	defer w.mu.Unlock()
	w.was = w.was || ready
	switch {
	case w.draining:
		return WorkerDraining
	case ready:
		return WorkerReady
	case w.was:
		return WorkerFailed
	}
	return WorkerStarting
}

// readyEvery is how often an engine is asked whether it is ready, so that a change is known at once.
const readyEvery = 200 * time.Millisecond

// beatOn sends heartbeats, whenever something changed and from time to time, until ctx ends.
func (w *worker) beatOn(ctx context.Context) {
	look := time.NewTicker(min(readyEvery, w.store.cfg.RenewEvery))
	defer look.Stop()
	said, at := WorkerStatus(""), time.Time{}
	for {
		if status := w.status(); status != said || time.Since(at) >= w.store.cfg.RenewEvery {
			at = time.Now()
			if w.heartbeat(ctx, status) == nil {
				if said != status {
					nudge(w.wake)
				}
				said = status
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-w.beat:
			at = time.Time{}
		case <-look.C:
		}
	}
}

// heartbeat renews what runs here, and stops what is not ours any more. A run goes on while Redis is away: the room's newer epoch is what puts it out.
func (w *worker) heartbeat(ctx context.Context, status WorkerStatus) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	w.mu.Lock()
	runs := make([]held, 0, len(w.runs))
	for key := range w.runs {
		runs = append(runs, key)
	}
	w.mu.Unlock()
	gone, err := w.store.heartbeat(ctx, Worker{ID: w.id, Pipeline: w.cfg.Pipeline, Status: status, Slots: w.cfg.SessionsPerWorkerMax, Devices: w.devices}, runs)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			w.log.WarnContext(ctx, "heartbeat not sent", "error", err)
		}
		return err
	}
	for _, g := range gone {
		w.mu.Lock()
		r := w.runs[g.held]
		w.mu.Unlock()
		if r != nil {
			r.stop(&staleError{op: "renew", id: g.id, epoch: g.epoch, status: g.status, reason: goneReason(g)})
		}
	}
	return nil
}

// goneReason is the reason of a session that ended; one that goes on elsewhere has none.
func goneReason(g lost) string {
	if g.status.Terminal() {
		return g.reason
	}
	return ""
}
