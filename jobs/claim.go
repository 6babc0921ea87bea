package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Cause says why an attempt gave its job back. Each cause has a budget of its own; over budget the job fails with the cause's code.
type Cause string

// The causes.
const (
	// CauseCrash is a worker or engine process that died: DeathsMax deaths end the job as worker_crashed.
	CauseCrash Cause = "crash"
	// CauseOOM is exhausted device memory: OOMMax retries, then gpu_out_of_memory.
	CauseOOM Cause = "oom"
	// CauseTransient is a fault that time mends, a store that does not answer: TransientMax retries with growing pauses, then internal_error.
	CauseTransient Cause = "transient"
	// CauseStalled is an engine that made no progress: StallsMax retries, then stalled.
	CauseStalled Cause = "stalled"
	// CauseDevice is a device that failed under the job: DevicesMax retries, then worker_crashed.
	CauseDevice Cause = "device"
	// CauseDraining is a worker that goes away; it is never charged.
	CauseDraining Cause = "draining"
)

// crashedMessage is what a client reads about a job whose workers died.
const crashedMessage = "The worker that ran the job died too often."

// budget is what one cause costs: the record's counter (empty: nothing), the retries allowed, and the failure when they are spent.
type budget struct {
	counter string
	retries int
	pause   time.Duration
	failure Failure
}

// pauseMax bounds the pause before a retry; the first is one second and each doubles.
const pauseMax = time.Minute

// budget looks a cause up; an unknown one is a crash.
func (c Config) budget(cause Cause) budget {
	switch cause {
	case CauseOOM:
		return budget{"no", c.OOMMax, 0, Failure{CodeOutOfMemory, "The device does not have enough memory for the job."}}
	case CauseTransient:
		return budget{"nt", c.TransientMax, time.Second, Failure{CodeInternal, "The job could not be finished."}}
	case CauseStalled:
		return budget{"ns", c.StallsMax, 0, Failure{CodeStalled, "The job made no progress."}}
	case CauseDevice:
		return budget{"nv", c.DevicesMax, 0, Failure{CodeWorkerCrashed, crashedMessage}}
	case CauseDraining:
		return budget{}
	case CauseCrash:
	}
	return budget{"nd", c.DeathsMax - 1, 0, Failure{CodeWorkerCrashed, crashedMessage}}
}

// Claim is one attempt at one job. Its fields never change. Exactly one of Complete, Fail and Requeue settles it.
type Claim struct {
	ID      string
	Attempt int
	// Job is the record as it was when the attempt began.
	Job Job

	store  *Store
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	progress int
	phase    string
	dirty    bool
	settling bool
	settled  bool
}

// Stop ends the context of the run with a cause of the worker's, such as ErrDeadline. It settles nothing.
func (c *Claim) Stop(cause error) { c.cancel(cause) }

// Progress notes how far the run is, 0..99, and what it is doing. It never blocks: the latest value is written with the consumer's next pulse. Within an attempt progress
// never falls, and 100 is reached by Complete alone.
func (c *Claim) Progress(percent int, phase string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	percent = max(c.progress, min(percent, 99))
	if percent != c.progress || phase != c.phase {
		c.progress, c.phase, c.dirty = percent, phase, true
	}
}

// StageKeys notes object keys of this attempt before they are written. What the result of Complete does not name becomes garbage, and everything does when the attempt loses
// its job. ErrStale means: do not write them.
func (c *Claim) StageKeys(ctx context.Context, keys ...string) error {
	if len(keys) == 0 || !validKeys(keys) {
		return fmt.Errorf("jobs: stage %s: object key: %w", c.ID, ErrInvalid)
	}
	return c.commit(ctx, "stage", func(ctx context.Context) (string, error) {
		return c.store.evalWord(ctx, "stage", c.ID, c.Attempt, strings.Join(keys, "\n"))
	})
}

// Complete makes the result the job's. It tries until Redis has answered, for CommitTimeout at most; running on while Redis is away costs nothing but time. ErrStale means that
// the job is no longer this attempt's: the caller deletes what it wrote.
func (c *Claim) Complete(ctx context.Context, result Result) error {
	document, kept, err := encodeResult(result)
	if err != nil {
		return fmt.Errorf("jobs: complete %s: %w", c.ID, err)
	}
	err = c.settle(ctx, "complete", func(ctx context.Context) (string, error) {
		return c.store.evalWord(ctx, "complete", c.ID, c.Attempt, document, kept, ms(c.store.cfg.RetentionTTL), max(result.SizeBytes, 0))
	})
	if err == nil {
		c.store.metrics.ended.WithLabelValues(c.Job.Spec.Pipeline, "").Inc()
	}
	return err
}

// Fail ends the job with what its client may read. As Complete, it tries until Redis has answered.
func (c *Claim) Fail(ctx context.Context, failure Failure) error {
	cfg := c.store.cfg
	err := c.settle(ctx, "fail", func(ctx context.Context) (string, error) {
		return c.store.evalWord(ctx, "fail", c.ID, c.Attempt, ms(cfg.RetentionTTL), ms(cfg.ZombieTTL), failure.Code, failure.Message)
	})
	if err == nil {
		c.store.metrics.ended.WithLabelValues(c.Job.Spec.Pipeline, failure.Code).Inc()
	}
	return err
}

// Requeue gives the job back for another attempt, or ends it when the cause's budget is spent, and says which: StateQueued or StateFailed. As Complete, it
// tries until Redis has answered.
func (c *Claim) Requeue(ctx context.Context, cause Cause) (State, error) {
	cfg, b := c.store.cfg, c.store.cfg.budget(cause)
	var state State
	var pause time.Duration
	err := c.settle(ctx, "requeue", func(ctx context.Context) (string, error) {
		answer, err := c.store.evalList(ctx, "requeue", c.ID, c.Attempt, b.counter, b.retries, ms(cfg.RetentionTTL), ms(cfg.ZombieTTL),
			ms(b.pause), ms(pauseMax), b.failure.Code, b.failure.Message)
		if err != nil {
			return "", err
		}
		state, pause = State(word(answer, 0)), time.Duration(number(answer, 1))*time.Millisecond
		return word(answer, 0), nil
	})
	if err != nil {
		return "", err
	}
	c.store.metrics.requeued.WithLabelValues(c.Job.Spec.Pipeline, string(cause)).Inc()
	if state == StateFailed {
		c.store.metrics.ended.WithLabelValues(c.Job.Spec.Pipeline, b.failure.Code).Inc()
		return state, nil
	}
	c.store.sendTicket(ctx, c.Job.Spec.Pipeline, c.ID, c.Attempt, pause)
	return state, nil
}

// settle runs the one write that ends the attempt.
func (c *Claim) settle(ctx context.Context, op string, write func(context.Context) (string, error)) error {
	c.mu.Lock()
	if c.settling {
		c.mu.Unlock()
		return fmt.Errorf("jobs: %s %s: settled already: %w", op, c.ID, ErrStale)
	}
	c.settling = true
	c.mu.Unlock()
	err := c.commit(ctx, op, write)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settled = err == nil || errors.Is(err, ErrStale)
	c.settling = c.settled // after a time-out the caller may try once more
	return err
}

// The pauses between the tries of a commit.
const (
	commitPauseMin = 50 * time.Millisecond
	commitPauseMax = 2 * time.Second
)

// commit writes until Redis has answered.
func (c *Claim) commit(ctx context.Context, op string, write func(context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, c.store.cfg.CommitTimeout)
	defer cancel()
	for pause := commitPauseMin; ; pause = min(2*pause, commitPauseMax) {
		answer, err := write(ctx)
		if err == nil && answer == "stale" {
			c.store.metrics.stale.WithLabelValues(op).Inc()
			return fmt.Errorf("jobs: %s %s attempt %d: %w", op, c.ID, c.Attempt, ErrStale)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		c.store.metrics.commitRetries.Inc()
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// lost ends the run because the record says so, unless the run is settling the attempt itself.
func (c *Claim) lost(cause error) {
	c.mu.Lock()
	settling := c.settling
	c.mu.Unlock()
	if settling {
		return
	}
	if errors.Is(cause, ErrLeaseLost) {
		c.store.metrics.leaseLost.Inc()
	}
	c.cancel(cause)
}
