package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"telefuser/jobs"
	"telefuser/storage"
	"telefuser/workers/engine"
	"telefuser/workers/media"
)

// Worker takes the jobs of one pipeline and runs them on its engines.
type Worker struct {
	cfg     Config
	jobs    *jobs.Store
	objects storage.Store
	metrics *metrics
	lanes   []*lane
	load    *load
}

// attemptDirPrefix begins the names of the private folders of attempts.
const attemptDirPrefix = "attempt-"

// New prepares a worker. Nothing is started before Run.
func New(cfg Config, records *jobs.Store, objects storage.Store) (*Worker, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Metrics)
	if err != nil {
		return nil, err
	}
	w := &Worker{cfg: cfg, jobs: records, objects: objects, metrics: m, load: newLoad(cfg.JobsMax)}
	for i, engineConfig := range cfg.Engines {
		owner := cfg.Owner
		if len(cfg.Engines) > 1 {
			owner += "." + strconv.Itoa(i)
		}
		l, err := newLane(w, owner, engineConfig)
		if err != nil {
			return nil, err
		}
		w.lanes = append(w.lanes, l)
	}
	return w, nil
}

// Run checks the encoder, loads the engines, and takes jobs until ctx ends. Then it takes no more, gives the running ones Grace to
// finish, hands the rest back uncharged, and answers nil when all engines are gone. A slot whose engine or device is given up ends
// alone; Run goes on with the others and tells of it at the end.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.prepare(ctx); err != nil {
		return err
	}
	taking, stopTaking := context.WithCancel(ctx)
	defer stopTaking()
	side, stopSide := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { w.heartbeat(side) })
	background.Go(func() { w.load.watch(side, w.cfg.IdleExit, stopTaking) })
	errs := make([]error, len(w.lanes))
	var running sync.WaitGroup
	for i, l := range w.lanes {
		running.Go(func() { errs[i] = l.run(taking) })
	}
	running.Wait()
	stopSide()
	background.Wait()
	return errors.Join(errs...)
}

// prepare looks at everything that would otherwise fail a job after its GPU time.
func (w *Worker) prepare(ctx context.Context) error {
	if err := media.CheckEncoder(ctx, w.cfg.FFmpeg.Path); err != nil {
		return fmt.Errorf("workers: encoder: %w", err)
	}
	if err := os.MkdirAll(w.cfg.TempDir, 0o700); err != nil {
		return fmt.Errorf("workers: temporary files: %w", err)
	}
	swept, err := engine.SweepPrivateDirs(w.cfg.TempDir, attemptDirPrefix)
	if err != nil {
		w.cfg.Log.Warn("leftovers of dead workers stay", "error", err)
	}
	if swept > 0 {
		w.cfg.Log.Info("leftovers of dead workers removed", "folders", swept)
	}
	return nil
}

// Ready says whether an engine is loaded and jobs are being taken, and why not. A slot whose device is set aside does not count.
func (w *Worker) Ready() error {
	for _, l := range w.lanes {
		if l.ready.Load() && !l.engine.Aside() {
			return nil
		}
	}
	return ErrNotReady
}

// heartbeat shows the worker to operators until ctx ends.
func (w *Worker) heartbeat(ctx context.Context) {
	ticker := time.NewTicker(w.jobs.Config().WorkerTTL / 3)
	defer ticker.Stop()
	info := jobs.WorkerInfo{Owner: w.cfg.Owner, Pipeline: w.cfg.Pipeline, Slots: len(w.lanes), Version: w.cfg.Version}
	for _, e := range w.cfg.Engines {
		info.Devices = append(info.Devices, e.Devices...)
	}
	for {
		info.Busy = w.load.busy()
		if err := w.jobs.Heartbeat(ctx, info); err != nil && ctx.Err() == nil {
			w.cfg.Log.Debug("heartbeat", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			w.goodbye(context.WithoutCancel(ctx))
			return
		}
	}
}

// goodbyeTimeout bounds the last word to Redis; without it the worker is forgotten a little later.
const goodbyeTimeout = 2 * time.Second

func (w *Worker) goodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, goodbyeTimeout)
	defer cancel()
	if err := w.jobs.Goodbye(ctx, w.cfg.Owner); err != nil {
		w.cfg.Log.Debug("goodbye", "error", err)
	}
}
