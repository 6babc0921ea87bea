package workers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"telefuser/jobs"
	"telefuser/workers/engine"
)

// lane is one slot of a worker: an engine and the consumer that feeds it. It takes jobs only while its engine is loaded, so a slow load
// leaves the jobs in the queue, for others.
type lane struct {
	worker   *Worker
	owner    string
	engine   *engine.Supervisor
	consumer *jobs.Consumer
	ready    atomic.Bool
	// taking is the time in which the lane takes jobs and enough ends it; run sets both before anything reads them.
	taking context.Context //nolint:containedctx // the lane's own life
	enough context.CancelFunc
}

const (
	// ticketInterval is the pause between two looks at an empty queue of one lane alone; many lanes look the less often.
	ticketInterval    = 10 * time.Millisecond
	ticketIntervalMax = 200 * time.Millisecond
	// stopTimeout bounds the end of an attempt that was told to stop: closing and killing its engine, and giving the job back.
	stopTimeout = 30 * time.Second
)

func newLane(w *Worker, owner string, cfg engine.Config) (*lane, error) {
	l := &lane{worker: w, owner: owner}
	own := cfg.OnExit
	cfg.OnExit = func(class engine.Class) {
		w.metrics.noteExit(w.cfg.Pipeline, class)
		if own != nil {
			own(class)
		}
	}
	ownAside := cfg.OnAside
	cfg.OnAside = func(aside bool) {
		w.metrics.noteAside(w.cfg.Pipeline, aside)
		if ownAside != nil {
			ownAside(aside)
		}
	}
	var err error
	if l.engine, err = engine.NewSupervisor(cfg); err != nil {
		return nil, err
	}
	grace := w.cfg.Grace
	if grace < time.Millisecond {
		grace = -1 // the consumer's word for none at all
	}
	l.consumer, err = w.jobs.NewConsumer(jobs.ConsumerConfig{
		Pipeline: w.cfg.Pipeline, Owner: owner, Slots: 1, DrainTimeout: grace, StopTimeout: stopTimeout,
		TicketCheckInterval: min(ticketInterval*time.Duration(len(w.cfg.Engines)), ticketIntervalMax),
	}, l.attempt)
	return l, err
}

// run ends when ctx has ended or enough was done, and the engine is gone.
func (l *lane) run(ctx context.Context) error {
	taking, stop := context.WithCancel(ctx)
	defer stop()
	l.taking, l.enough = taking, stop
	alive, stopEngine := context.WithCancel(context.WithoutCancel(ctx))
	defer stopEngine()
	ended := make(chan error, 1) // one answer
	go func() {
		defer stop()
		ended <- l.engine.Run(alive)
	}()
	err := l.take(taking)
	stopEngine()
	if err = errors.Join(err, <-ended); err != nil {
		l.worker.metrics.lost.WithLabelValues(l.worker.cfg.Pipeline).Inc()
		l.worker.cfg.Log.Error("slot ended", "owner", l.owner, "error", err)
	}
	return err
}

// take runs the consumer once the engine is loaded.
func (l *lane) take(ctx context.Context) error {
	if _, err := l.engine.Ready(ctx); err != nil {
		return nil // the engine's own Run tells of it, or ctx has ended
	}
	gauge := l.worker.metrics.ready.WithLabelValues(l.worker.cfg.Pipeline)
	l.ready.Store(true)
	gauge.Inc()
	defer func() {
		l.ready.Store(false)
		gauge.Dec()
	}()
	l.worker.load.serve()
	stopWatching := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		l.endWhenFull(stopWatching)
	}()
	err := l.consumer.Run(ctx)
	close(stopWatching)
	<-watched
	if err != nil {
		return fmt.Errorf("workers: %s: %w", l.owner, err)
	}
	return nil
}

// idleCheckInterval is the pause between two looks at whether a lane that is to end is idle.
const idleCheckInterval = 50 * time.Millisecond

// endWhenFull ends the lane when all attempts that the worker may make have started and the lane is idle.
func (l *lane) endWhenFull(stop <-chan struct{}) {
	select {
	case <-l.worker.load.full:
	case <-stop:
		return
	}
	ticker := time.NewTicker(idleCheckInterval)
	defer ticker.Stop()
	for l.consumer.Busy() > 0 {
		select {
		case <-ticker.C:
		case <-stop:
			return
		}
	}
	l.enough()
}

// attempt is what the consumer calls for each claim. It returns when the slot may be given to the next job.
func (l *lane) attempt(ctx context.Context, claim *jobs.Claim) {
	if !l.worker.load.begin() {
		l.handBack(ctx, claim)
		l.enough()
		return
	}
	l.runOne(ctx, claim)
	select {
	case <-l.worker.load.full:
		l.enough()
	default:
	}
	// The engine may be starting anew. If it never comes back, its supervisor ends the lane.
	_, _ = l.engine.Ready(l.taking) //nolint:contextcheck // ctx was the attempt's, and that is over
}

// runOne counts an attempt in and out, should it panic too.
func (l *lane) runOne(ctx context.Context, claim *jobs.Claim) {
	busy := l.worker.metrics.busy.WithLabelValues(l.worker.cfg.Pipeline)
	busy.Inc()
	defer l.worker.load.end()
	defer busy.Dec()
	newAttempt(l, claim).run(ctx)
}

// handBack gives a job back that came too late.
func (l *lane) handBack(ctx context.Context, claim *jobs.Claim) {
	if _, err := claim.Requeue(context.WithoutCancel(ctx), jobs.CauseDraining); err != nil {
		l.worker.cfg.Log.Warn("job was not handed back", "job_id", claim.ID, "error", err)
	}
}
