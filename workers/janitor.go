package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"telefuser/jobs"
	"telefuser/storage"
)

// JanitorConfig shapes a janitor.
type JanitorConfig struct {
	// Every is the pause between two rounds when there is nothing to do. Default 1 second.
	Every time.Duration
	// SweepEvery is the pause between two sweeps of the store's own leftovers. Default 10 minutes.
	SweepEvery time.Duration
	// Log is required.
	Log *slog.Logger
}

// Janitor removes objects that no record needs any more: those of deleted and expired jobs, of attempts that lost their job, and of
// uploads that never found a record.
type Janitor struct {
	cfg     JanitorConfig
	jobs    garbageSource
	objects objectRemover
}

// garbageSource is what the janitor needs of the records.
type garbageSource interface {
	NextGarbage(ctx context.Context, limit int) ([]jobs.Garbage, error)
	GarbageDone(ctx context.Context, done ...jobs.Garbage) error
	SweepExpired(ctx context.Context, limit int) (int, error)
}

// objectRemover is what the janitor needs of the store.
type objectRemover interface {
	Delete(ctx context.Context, key string) error
	Sweep(ctx context.Context) (int, error)
}

const (
	// garbageBatch is how many entries one round takes; the janitors of other processes take others meanwhile.
	garbageBatch = 100
	// deletesMax is how many entries are worked on at once.
	deletesMax = 8
)

// NewJanitor prepares a janitor. Any number of them may run at once.
func NewJanitor(cfg JanitorConfig, records *jobs.Store, objects storage.Store) (*Janitor, error) {
	if cfg.Log == nil {
		return nil, errors.New("workers: janitor: no logger")
	}
	cfg.Every = cmp.Or(cfg.Every, time.Second)
	cfg.SweepEvery = cmp.Or(cfg.SweepEvery, 10*time.Minute)
	return &Janitor{cfg: cfg, jobs: records, objects: objects}, nil
}

// Run works until ctx ends. What fails is tried again in a later round.
func (j *Janitor) Run(ctx context.Context) error {
	var swept time.Time
	failing := false // an outage is told of once, not every round
	for ctx.Err() == nil {
		if time.Since(swept) >= j.cfg.SweepEvery {
			j.sweepStore(ctx)
			swept = time.Now()
		}
		more, err := j.round(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			j.cfg.Log.Warn("janitor's round", "error", err)
		}
		failing = err != nil
		if more && err == nil {
			continue
		}
		timer := time.NewTimer(j.cfg.Every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return nil
}

func (j *Janitor) sweepStore(ctx context.Context) {
	removed, err := j.objects.Sweep(ctx)
	if err != nil && ctx.Err() == nil {
		j.cfg.Log.Warn("sweep of the store", "error", err)
	}
	if removed > 0 {
		j.cfg.Log.Info("unfinished uploads removed", "count", removed)
	}
}

// round removes one batch and says whether there may be more.
func (j *Janitor) round(ctx context.Context) (bool, error) {
	expired, err := j.jobs.SweepExpired(ctx, garbageBatch)
	if err != nil {
		return false, fmt.Errorf("workers: expired: %w", err)
	}
	batch, err := j.jobs.NextGarbage(ctx, garbageBatch)
	if err != nil {
		return false, fmt.Errorf("workers: garbage: %w", err)
	}
	gone := make([]bool, len(batch))
	group := errgroup.Group{}
	group.SetLimit(deletesMax)
	for i, entry := range batch {
		group.Go(func() error {
			err := j.remove(ctx, entry)
			gone[i] = err == nil
			return err
		})
	}
	failed := group.Wait()
	var done []jobs.Garbage
	for i, entry := range batch {
		if gone[i] {
			done = append(done, entry)
		}
	}
	err = errors.Join(failed, j.jobs.GarbageDone(ctx, done...))
	return expired == garbageBatch || len(batch) == garbageBatch, err
}

// remove deletes an entry's objects, manifests first: without one, nothing of the video is ever brought back.
func (j *Janitor) remove(ctx context.Context, entry jobs.Garbage) error {
	keys := slices.Clone(entry.Keys)
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	for _, key := range keys {
		err := j.objects.Delete(ctx, key)
		if errors.Is(err, storage.ErrKey) {
			j.cfg.Log.Error("garbage with an impossible key is forgotten", "job_id", entry.JobID)
			continue
		}
		if err != nil {
			return fmt.Errorf("workers: remove objects of %q: %w", entry.JobID, err)
		}
	}
	return nil
}

func rank(key string) int {
	if strings.HasSuffix(key, "/"+manifestName) {
		return 0
	}
	return 1
}
