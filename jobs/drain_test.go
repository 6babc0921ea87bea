package jobs_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"telefuser/jobs"
)

// A run that is told to stop, and does not settle, is handed back for nothing; the next worker makes attempt 2.
func TestDrainHandsBack(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		started, cause := make(chan struct{}, 1), make(chan error, 1)
		stop := b.consume(t, jobs.ConsumerConfig{DrainTimeout: -1}, func(ctx context.Context, _ *jobs.Claim) {
			started <- struct{}{}
			<-ctx.Done()
			cause <- context.Cause(ctx)
		})
		job := b.create(t, "alice")
		within(t, started)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if err := within(t, cause); !errors.Is(err, jobs.ErrDraining) {
			t.Errorf("stopped by %v", err)
		}
		got := b.get(t, "alice", job.ID)
		if got.State != jobs.StateQueued || got.Attempt != 1 || got.Owner != "" || !got.StartedAt.IsZero() {
			t.Errorf("handed back as %+v", got)
		}
		if n := b.rdb.HExists(t.Context(), b.store.Key("j:"+job.ID), "nd").Val(); n {
			t.Error("a draining worker was charged as a death")
		}
		second := make(chan int, 1)
		b.consume(t, jobs.ConsumerConfig{Owner: "worker-2"}, func(ctx context.Context, c *jobs.Claim) {
			second <- c.Attempt
			if err := c.Complete(context.WithoutCancel(ctx), result("r")); err != nil {
				t.Error(err)
			}
		})
		if attempt := within(t, second); attempt != 2 {
			t.Errorf("attempt %d", attempt)
		}
	})
}

// A run that can finish within the drain time does, and nothing new starts meanwhile.
func TestDrainLetsFinish(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		started, finish := make(chan struct{}, 2), make(chan struct{})
		var wg sync.WaitGroup
		stop := b.consume(t, jobs.ConsumerConfig{Slots: 1, DrainTimeout: patience}, func(ctx context.Context, c *jobs.Claim) {
			started <- struct{}{}
			<-finish
			if ctx.Err() != nil {
				t.Errorf("stopped by %v", context.Cause(ctx))
			}
			if err := c.Complete(ctx, result("r")); err != nil {
				t.Error(err)
			}
		})
		first := b.create(t, "alice")
		within(t, started)
		second := b.create(t, "alice")
		wg.Go(func() {
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
		close(finish)
		wg.Wait()
		if got := b.state(t, "alice", first.ID); got != "completed" {
			t.Errorf("the running job is %s", got)
		}
		if got := b.state(t, "alice", second.ID); got != "queued" {
			t.Errorf("the waiting job is %s", got)
		}
	})
}

// A run that is deaf is reported, and its job handed back all the same.
func TestDrainReportsTheStuck(t *testing.T) {
	b := onRedis(t, quick())
	started, release := make(chan struct{}), make(chan struct{})
	returned := make(chan struct{})
	stop := b.consume(t, jobs.ConsumerConfig{DrainTimeout: -1, StopTimeout: 50 * time.Millisecond}, func(context.Context, *jobs.Claim) {
		close(started)
		<-release
		close(returned)
	})
	job := b.create(t, "alice")
	within(t, started)
	if err := stop(); !errors.Is(err, jobs.ErrStuck) {
		t.Errorf("stopped with %v", err)
	}
	if got := b.state(t, "alice", job.ID); got != "queued" {
		t.Errorf("the job is %s", got)
	}
	close(release)
	within(t, returned)
}

// A run that begins when the others have been told to stop already is told so too, and its job is handed back.
func TestDrainReachesARunThatIsAboutToBegin(t *testing.T) {
	b := onRedis(t, quick())
	job := b.create(t, "alice")
	cause := make(chan error, 1)
	consumer, err := b.store.NewConsumer(jobs.ConsumerConfig{Pipeline: pipeline, Owner: "worker-1", DrainTimeout: -1, StopTimeout: patience},
		func(ctx context.Context, _ *jobs.Claim) {
			select {
			case <-ctx.Done():
				cause <- context.Cause(ctx)
			case <-time.After(patience / 2):
				cause <- nil
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	if err := consumer.DrainBefore(t.Context(), job.ID, 0); err != nil {
		t.Errorf("drained with %v", err)
	}
	if err := within(t, cause); !errors.Is(err, jobs.ErrDraining) {
		t.Errorf("stopped by %v", err)
	}
	if got := b.state(t, "alice", job.ID); got != "queued" {
		t.Errorf("the job is %s", got)
	}
}
