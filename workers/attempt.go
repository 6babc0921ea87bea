package workers

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"telefuser/jobs"
	"telefuser/workers/contract"
	"telefuser/workers/engine"
)

// attempt is one run of one job.
type attempt struct {
	worker *Worker
	engine *engine.Supervisor
	claim  *jobs.Claim
	spec   jobs.Spec
	log    *slog.Logger
	// dir holds its files; nil until it is made.
	dir   *engine.PrivateDir
	facts jobs.Facts
	// contract describes the engine that runs it, from when it is loaded.
	contract contract.Contract
	// put are the keys that it may have written.
	put []string
	// started is when the claim came.
	started time.Time
}

// The phases, as a client reads them.
const (
	phaseLoading    = "loading"
	phaseGenerating = "generating"
	phaseEncoding   = "encoding"
	phaseStoring    = "storing"
)

// The shares of the progress, in per cent, at which phases begin; generating begins at 0.
const (
	percentEncoding = 90
	percentStoring  = 95
)

func newAttempt(l *lane, claim *jobs.Claim) *attempt {
	return &attempt{
		worker: l.worker, engine: l.engine, claim: claim, spec: claim.Job.Spec, started: time.Now(),
		log: l.worker.cfg.Log.With("job_id", claim.ID, "attempt", claim.Attempt, "request_id", claim.Job.Spec.RequestID,
			"pipeline", claim.Job.Spec.Pipeline),
	}
}

// run makes the video and settles the claim.
func (a *attempt) run(ctx context.Context) {
	a.log.Info("attempt begins", "task", a.spec.Task, "width", a.spec.Width, "height", a.spec.Height, "frames", a.spec.Frames)
	a.worker.pass(PointClaimed)
	defer a.tidy()
	ctx, span := a.trace(ctx)
	defer span.End()
	result, err := a.produce(ctx)
	if err == nil {
		a.worker.pass(PointBeforeCommit)
		// From here on nothing is lost by a stop: the result is there, and its commit is fenced.
		err = a.claim.Complete(context.WithoutCancel(ctx), result)
	}
	if err != nil {
		span.Fail("no result")
		a.giveUp(ctx, err)
		return
	}
	a.worker.pass(PointAfterCommit)
	a.report()
}

// produce takes the job from its inputs to stored objects.
func (a *attempt) produce(ctx context.Context) (jobs.Result, error) {
	dir, err := engine.NewPrivateDir(a.worker.cfg.TempDir, attemptDirPrefix)
	if err != nil {
		return jobs.Result{}, err
	}
	a.dir = dir
	a.noteQueue()
	a.claim.Progress(0, phaseLoading)
	req, err := a.request(ctx)
	if err != nil {
		return jobs.Result{}, err
	}
	source, err := a.fetchSource(ctx)
	if err != nil {
		return jobs.Result{}, err
	}
	loading := time.Now()
	desc, err := a.engine.Ready(ctx)
	if err != nil {
		return jobs.Result{}, err
	}
	a.contract = desc.Contract
	a.facts.LoadNS = nanoseconds(time.Since(loading))
	a.noteDevices(desc)
	filming, made := a.worker.cfg.Tracer.Start(ctx, "engine")
	film, err := a.film(filming, req, source)
	made.End()
	if err != nil {
		return jobs.Result{}, err
	}
	storing, stored := a.worker.cfg.Tracer.Start(ctx, "store")
	defer stored.End()
	return a.store(storing, film)
}

// noteQueue measures the wait by one clock, that of the records.
func (a *attempt) noteQueue() {
	created, started := a.claim.Job.CreatedAt, a.claim.Job.StartedAt
	if !created.IsZero() && !started.IsZero() && !started.Before(created) {
		a.facts.QueueNS = nanoseconds(started.Sub(created))
	}
}

// path names a file of the attempt.
func (a *attempt) path(name string) string { return filepath.Join(a.dir.Path, name) }

// giveUp settles an attempt that did not end well. The engine is free or gone by now.
func (a *attempt) giveUp(ctx context.Context, err error) {
	if cause := context.Cause(ctx); cause != nil {
		err = cause // what the attempt was told explains whatever broke because of it
	}
	d := classify(err)
	a.worker.metrics.tasks.WithLabelValues(a.spec.Pipeline, d.label).Inc()
	level := slog.LevelWarn
	if errors.Is(err, jobs.ErrCancelled) {
		level = slog.LevelInfo // that is what the client asked for
	}
	a.log.Log(ctx, level, "attempt ends without a result", "outcome", d.label, "error", err)
	settle := context.WithoutCancel(ctx)
	var settled error
	switch d.action {
	case drop:
		a.discard(settle)
		return
	case fail:
		settled = a.claim.Fail(settle, d.failure)
	case requeue:
		var state jobs.State
		if state, settled = a.claim.Requeue(settle, d.cause); state == jobs.StateFailed {
			a.log.Warn("the job has failed for good", "cause", d.cause)
		}
	}
	if errors.Is(settled, jobs.ErrStale) {
		a.discard(settle)
		return
	}
	if settled != nil {
		a.log.Error("attempt is not settled; its lease will run out", "error", settled)
	}
}

// report tells of a completed job.
func (a *attempt) report() {
	m, pipeline := a.worker.metrics, a.spec.Pipeline
	m.tasks.WithLabelValues(pipeline, "completed").Inc()
	m.duration.WithLabelValues(pipeline).Observe(time.Since(a.started).Seconds())
	m.frames.WithLabelValues(pipeline).Add(float64(a.spec.Frames))
	m.noteStage(pipeline, "queue", a.facts.QueueNS)
	m.noteStage(pipeline, "load", a.facts.LoadNS)
	m.noteStage(pipeline, "inference", a.facts.InferenceNS)
	m.noteStage(pipeline, "video_encode", a.facts.EncodeNS)
	m.noteStage(pipeline, "store", a.facts.StoreNS)
	for name, ns := range a.facts.StagesNS {
		m.noteStage(pipeline, "model_"+name, &ns)
	}
	a.log.Info("attempt completed the job", "duration", time.Since(a.started))
}

// tidy removes the attempt's files.
func (a *attempt) tidy() {
	if a.dir == nil {
		return
	}
	if err := a.dir.Remove(); err != nil {
		a.log.Warn("temporary files stay", "error", err)
	}
}

// nanoseconds makes a known fact of a duration.
func nanoseconds(d time.Duration) *int64 {
	ns := d.Nanoseconds()
	return &ns
}
