package streaming

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// run is one epoch of a session: from the claim to the free slot. Its goroutines are the room (link), the words (outbox), the record (recorder), the source
// (generate) and the screen (play); the first that fails ends them all, and the cause decides what becomes of the session.
type run struct {
	cfg     PoolConfig
	claim   *claim
	engine  Engine
	rooms   Rooms
	seat    *Seat
	metrics *poolMetrics
	log     *slog.Logger
	// claimed is the monotonic beginning of the epoch.
	claimed time.Time

	link   *link
	out    *outbox
	inbox  *inbox
	record *recorder
	chunks *chunkQueue
	pacer  *pacer
	cancel context.CancelCauseFunc

	// mu guards what the source and the screen both count.
	mu       sync.Mutex
	facts    Facts
	state    []byte
	outcome  string
	made     int64
	shownAny bool
	source   Source
	openedIn time.Duration
	timing   *Timing
	status   Status
	// rate is the session's own, stats its worker's.
	rate  *rate
	leave func()
	stats *workerStats
	spans spans
	// mute, which is play's alone, says that sound cannot be encoded here.
	mute bool
}

// newRun prepares an epoch; nothing of it runs yet.
func newRun(cfg PoolConfig, c *claim, engine Engine, rooms Rooms, seat *Seat, m *poolMetrics, stats *workerStats, log *slog.Logger) *run {
	spec := c.session.Spec
	r := &run{cfg: cfg, claim: c, engine: engine, rooms: rooms, seat: seat, metrics: m, stats: stats, claimed: time.Now(), facts: c.session.Facts,
		log: log.With("session", c.session.ID, "epoch", c.session.Epoch), chunks: newChunkQueue()}
	r.link = newLink(rooms, Join{SessionID: c.session.ID, Room: c.session.Room, Epoch: c.session.Epoch, Controller: spec.Controller,
		Width: spec.Width, Height: spec.Height, FPS: spec.FPS, BitrateBitsPerSecond: cfg.bitrate(spec)}, cfg, r.log)
	r.out = newOutbox(c.session.ID, r.link)
	r.pacer = &pacer{period: time.Second / time.Duration(spec.FPS), lossless: spec.Delivery == DeliveryLossless, timeline: &timeline{}, write: r.show, hear: r.hearSound}
	return r
}

// lossless says that no frame may be dropped.
func (r *run) lossless() bool { return r.claim.session.Spec.Delivery == DeliveryLossless }

// stop ends the run with a cause. Only the first counts.
func (r *run) stop(cause error) { r.cancel(cause) }

// prepare makes the run stoppable. Call it before anybody else knows of it.
func (r *run) prepare(ctx context.Context) context.Context {
	ctx, r.cancel = context.WithCancelCause(r.trace(ctx))
	r.record = newRecorder(r.claim.write, r.stop)
	touched := func(keys string) {
		r.seat.Touch()
		r.record.put(r.holds(keys))
	}
	r.inbox = newInbox(r.claim.session.ID, r.out, r.metrics, r.cfg.ControlsPerSecondMax, touched, func() { r.stop(endWith(ReasonStopped)) })
	if r.claim.session.Epoch > 1 {
		r.inbox.resume(r.facts.HeldKeys)
	}
	r.rate, r.leave = r.metrics.gauges.join()
	r.stats.session(1)
	r.metrics.sessions.WithLabelValues("live").Inc()
	r.count(StatusJoiningRoom)
	return ctx
}

// over takes the run out of the gauges.
func (r *run) over() {
	r.count("")
	r.metrics.sessions.WithLabelValues("live").Dec()
	r.stats.session(-1)
	r.leave()
}

// enter writes a new status down, with what else there is to note.
func (r *run) enter(status Status, n note) {
	r.count(status)
	n.status = status
	r.record.put(n)
}

// count moves the session from one status to the next in the metrics; "" is none.
func (r *run) count(status Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status != "" {
		r.metrics.statuses.WithLabelValues(string(r.status)).Dec()
	}
	if r.status = status; status != "" {
		r.metrics.statuses.WithLabelValues(string(status)).Inc()
	}
}

// holds is the note that the controller is active and holds keys, so that another owner goes on with them.
func (r *run) holds(keys string) note {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := note{active: true}
	if keys != r.facts.HeldKeys {
		r.facts.HeldKeys = keys
		facts := r.facts
		n.facts = &facts
	}
	return n
}

// do runs the session to its end. freed is called when its slot is free, which is before its room is left: a media server may take its time over that.
func (r *run) do(ctx context.Context, freed func()) {
	defer r.cancel(nil)
	ending := context.WithoutCancel(ctx)
	own, leave := context.WithCancel(ending)
	defer leave()
	var away, writer, speaker sync.WaitGroup
	away.Go(func() {
		// The room outlives the work, so that the last words are heard.
		err := r.link.run(own, r.hear, func(v view) { r.record.put(note{presence: v.presence()}) }, r.stop)
		r.stop(err)
	})
	speaker.Go(func() { r.out.run(own) })
	recording, stopRecording := context.WithCancel(own)
	writer.Go(func() { r.record.run(recording) })

	cause := r.live(ctx)
	stopRecording()
	writer.Wait()
	r.conclude(ending, cause, freed, &speaker)
	leave()
	away.Wait()
	speaker.Wait()
}

// live opens the source and works until a cause ends it. The room is entered meanwhile, and the first chunk made: nobody waits for one because of the other. The
// source is closed when it returns.
func (r *run) live(ctx context.Context) error {
	r.out.status("worker_running", nil, fields{"worker_id": r.claim.worker, "epoch": r.claim.session.Epoch}) // it is said when we are in the room, before all else
	opened := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() { r.arrive(ctx, opened) })
	if err := r.open(ctx); err != nil {
		r.stop(err)
		work.Wait()
		return context.Cause(ctx)
	}
	close(opened)
	work.Go(func() {
		defer r.chunks.close()
		if err := r.generate(ctx); err != nil {
			r.stop(err)
		}
	})
	work.Go(func() { r.stop(r.play(ctx)) })
	work.Wait()
	if err := r.source.Close(); err != nil {
		r.log.WarnContext(ctx, "source not closed well", "error", err)
	}
	return context.Cause(ctx)
}

// arrive writes down that the room is entered, and then that the source is open.
func (r *run) arrive(ctx context.Context, opened <-chan struct{}) {
	_, joining := r.cfg.Tracer.StartAt(ctx, "session.room", r.claimed)
	defer joining.End()
	if _, err := r.link.await(ctx, func(v view) bool { return v.pub != nil }); err != nil {
		joining.Fail("not entered")
		return
	}
	joining.End()
	r.enter(StatusStartingPipeline, note{})
	select {
	case <-opened:
		r.enter(StatusRunning, note{})
	case <-ctx.Done():
	}
}

// open opens the source.
func (r *run) open(ctx context.Context) error {
	began := time.Now()
	timed, cancel := context.WithTimeout(ctx, r.cfg.OpenTimeout)
	defer cancel()
	timed, opening := r.cfg.Tracer.Start(timed, "engine")
	defer opening.End()
	source, err := r.engine.Open(timed, r.claim.session)
	if err != nil {
		opening.Fail("not opened")
		r.metrics.failed(err)
		return fmt.Errorf("streaming: open %s: %w", r.claim.session.ID, err)
	}
	r.source, r.openedIn = source, time.Since(began)
	spec := r.claim.session.Spec
	marked := markOf(source)
	r.out.status("runtime_ready", nil, marked.with(fields{"width": spec.Width, "height": spec.Height, "fps": spec.FPS, "stream_progress": r.progress(),
		"resumed":     r.claim.session.State != nil,
		"measurement": fields{"name": "runtime_creation", "seconds": r.openedIn.Seconds(), "memory": []any{}}}))
	r.out.measure(fact{"runtime", marked.with(fields{"name": "runtime_creation", "duration_ns": r.openedIn.Nanoseconds(), "worker_id": r.claim.worker,
		"epoch": r.claim.session.Epoch})})
	return nil
}

// markOf says where weights come from whose pictures mean nothing; else it is empty.
func markOf(source Source) fields {
	if w, ok := source.(interface{ Weights() string }); ok && w.Weights() != "" {
		return fields{"weights": w.Weights()}
	}
	return fields{}
}

// hear takes what happens in the room.
func (r *run) hear(e Event) {
	now := time.Now()
	if e.Dropped > 0 {
		r.inbox.drop(e.Dropped, now)
	}
	switch e.Kind {
	case EventControl:
		if e.Identity == r.claim.session.Spec.Controller {
			r.inbox.receive(e.Payload, now)
		} else {
			r.inbox.drop(1, now)
		}
	case EventReconnected:
		r.log.Info("media server is back")
	}
	r.inbox.report(now)
}
