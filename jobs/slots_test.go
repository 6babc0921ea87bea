package jobs_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hibiken/asynq"

	"telefuser/jobs"
)

// The slots bound what runs, whatever the queue believes.
func TestSlots(t *testing.T) {
	b := onRedis(t, quick())
	var now, most atomic.Int64
	var left sync.WaitGroup
	left.Add(20)
	b.consume(t, jobs.ConsumerConfig{Slots: 3}, func(ctx context.Context, c *jobs.Claim) {
		defer left.Done()
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if err := c.Complete(context.WithoutCancel(ctx), result("r")); err != nil {
			t.Error(err)
		}
	})
	for range 20 {
		b.create(t, "alice")
	}
	done := make(chan struct{})
	go func() { left.Wait(); close(done) }()
	within(t, done)
	if m := most.Load(); m > 3 {
		t.Errorf("%d runs at once", m)
	}
}

// The queue gives a place free when it believes a message lost, while our run goes on: nothing else starts, and the run is not touched.
func TestQueueCannotTakeASlot(t *testing.T) {
	b := onRedis(t, quick())
	ctx := t.Context()
	started, finish := make(chan string, 10), make(chan struct{})
	b.consume(t, jobs.ConsumerConfig{Slots: 1}, func(ctx context.Context, c *jobs.Claim) {
		started <- c.ID
		<-finish
		if ctx.Err() != nil {
			t.Errorf("stopped by %v", context.Cause(ctx))
		}
		if err := c.Complete(context.WithoutCancel(ctx), result("r")); err != nil {
			t.Error(err)
		}
	})
	first := b.create(t, "alice")
	within(t, started)
	queue := "asynq:{" + b.store.Queue(pipeline) + "}:"
	inspector := asynq.NewInspectorFromRedisClient(b.rdb)
	eventually(t, func() bool {
		if err := inspector.CancelProcessing(first.ID + ":0"); err != nil {
			t.Fatal(err)
		}
		return b.rdb.LLen(ctx, queue+"active").Val() == 0
	})
	second := b.create(t, "alice")
	eventually(t, func() bool { return b.rdb.ZScore(ctx, queue+"retry", second.ID+":0").Err() == nil })
	if got := b.state(t, "alice", second.ID); got != "queued" || len(started) != 0 {
		t.Errorf("the second job is %s while the only slot is taken", got)
	}
	close(finish)
	b.eventuallyState(t, first.ID, "completed")
	b.eventuallyState(t, second.ID, "completed")
	if got := b.get(t, "alice", first.ID); got.Attempt != 1 {
		t.Errorf("the first job took %d attempts", got.Attempt)
	}
}
