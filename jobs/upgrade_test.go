package jobs_test

import (
	"context"
	"testing"
	"time"

	"telefuser/jobs"
)

// unlane makes queued jobs look as the version before lanes left them.
func (b *bundle) unlane(t testing.TB, tenants ...string) {
	t.Helper()
	b.rdb.Del(t.Context(), b.store.Key("turns:"+pipeline))
	for _, tenant := range tenants {
		b.rdb.Del(t.Context(), b.store.Key("l:"+pipeline+":"+tenant))
	}
}

// Jobs of the version before lanes run by their tickets, and have the place that they had there.
func TestJobsOfTheVersionBeforeRun(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		var made []jobs.Job
		for range 3 {
			made = append(made, b.create(t, "alice"))
		}
		b.unlane(t, "alice")
		if place, _, err := b.store.QueuePosition(t.Context(), made[2]); err != nil || place != 3 {
			t.Errorf("the third is at %d, %v", place, err)
		}
		b.consume(t, jobs.ConsumerConfig{LookInterval: time.Hour}, func(ctx context.Context, c *jobs.Claim) {
			if err := c.Complete(context.WithoutCancel(ctx), result("r")); err != nil {
				t.Error(err)
			}
		})
		for _, job := range made {
			b.eventuallyState(t, job.ID, "completed")
		}
	})
}

// Those of them whose ticket was lost get their place from the reaper.
func TestTheReaperPlacesJobsOfTheVersionBefore(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	job := b.create(t, "alice")
	b.unlane(t, "alice")
	b.moveQueued(t, job.ID, time.Now().Add(-time.Minute).UnixMilli())
	if _, id := b.next(t); id != "" {
		t.Fatal("a job without a lane began")
	}
	b.reap(t)
	if _, id := b.next(t); id != job.ID {
		t.Errorf("after the reaper came %q", id)
	}
}

// A worker of the version before takes jobs out of no lane: what it took begins no second time, and does not hold its tenant up.
func TestWorkersOfTheVersionBefore(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		first, second := b.create(t, "alice"), b.create(t, "alice")
		if err := b.store.SetRunningMax(ctx, "alice", 1); err != nil {
			t.Fatal(err)
		}
		b.rdb.SAdd(ctx, b.store.Key("u:alice"), jobs.NewID(time.Now())) // it ended a run without taking it out of here
		b.rdb.HSet(ctx, b.store.Key("j:"+first.ID), "s", "in_progress", "a", 1, "own", "old")
		b.rdb.ZRem(ctx, b.store.Key("q:"+pipeline), first.ID)
		b.rdb.ZAdd(ctx, b.store.Key("r:"+pipeline), jobs.Lease(first.ID, time.Now().Add(time.Minute)))
		if _, id := b.next(t); id != second.ID {
			t.Errorf("%q began, want the second job", id)
		}
	})
}
