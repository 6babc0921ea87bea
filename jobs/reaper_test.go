package jobs_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"telefuser/jobs"
)

// A worker that stops renewing loses its job, and its late commit changes nothing.
func TestLostLeaseStartsAnotherAttempt(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		ctx := t.Context()
		job := b.create(t, "alice")
		frozen := b.claim(t, job.ID, 0)
		if err := frozen.StageKeys(ctx, "videos/1.mp4"); err != nil {
			t.Fatal(err)
		}
		b.reaper(t)
		second := make(chan int, 1)
		b.consume(t, jobs.ConsumerConfig{Owner: "worker-2"}, func(ctx context.Context, c *jobs.Claim) {
			second <- c.Attempt
			if err := c.Complete(context.WithoutCancel(ctx), result("videos/2")); err != nil {
				t.Error(err)
			}
		})
		if attempt := within(t, second); attempt != 2 {
			t.Errorf("attempt %d", attempt)
		}
		b.eventuallyState(t, job.ID, "completed")
		if cause, err := b.store.Pulse(ctx, frozen.Again()); err != nil || !errors.Is(cause, jobs.ErrLeaseLost) {
			t.Errorf("the frozen worker wakes up to %v, %v", cause, err)
		}
		if err := frozen.StageKeys(ctx, "videos/1.json"); !errors.Is(err, jobs.ErrStale) {
			t.Errorf("stage: %v", err)
		}
		if err := frozen.Complete(ctx, result("videos/1")); !errors.Is(err, jobs.ErrStale) {
			t.Errorf("commit: %v", err)
		}
		if got := b.get(t, "alice", job.ID); got.Result.VideoKey != "videos/2.mp4" || got.Attempt != 2 {
			t.Errorf("the result is %+v", got)
		}
		if got := b.garbage(t); len(got) != 1 || got[0] != "videos/1.mp4" {
			t.Errorf("garbage %v, want what the first attempt left", got)
		}
	})
}

// A run that goes on renewing keeps its job for many leases.
func TestRenewedLeaseHolds(t *testing.T) {
	b := onRedis(t, quick())
	b.reaper(t)
	release := make(chan struct{})
	b.consume(t, jobs.ConsumerConfig{}, func(ctx context.Context, c *jobs.Claim) {
		<-release
		if err := c.Complete(context.WithoutCancel(ctx), result("r")); err != nil {
			t.Error(err)
		}
	})
	job := b.create(t, "alice")
	b.eventuallyState(t, job.ID, "in_progress")
	b.pass(t, 3*b.cfg.LeaseTTL)
	close(release)
	b.eventuallyState(t, job.ID, "completed")
	if got := b.get(t, "alice", job.ID); got.Attempt != 1 {
		t.Errorf("attempt %d", got.Attempt)
	}
}

// A reaper that has not seen Redis for long leaves leases alone for one lease: their owners may have been cut off as well.
func TestReaperWaitsAfterAGap(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	ctx := t.Context()
	now := time.Now()
	r := b.store.NewReaperAt(func() time.Time { return now })
	job := b.create(t, "alice")
	b.claim(t, job.ID, 0)
	b.expireLease(t, job.ID)
	round := func(pass time.Duration, want string) {
		t.Helper()
		now = now.Add(pass)
		if err := r.Round(ctx); err != nil {
			t.Fatal(err)
		}
		if got := b.state(t, "alice", job.ID); got != want {
			t.Fatalf("the job is %s, want %s", got, want)
		}
	}
	round(0, "in_progress") // the first look ever
	for range 10 {
		round(time.Second, "in_progress")
	}
	round(time.Second, "queued")
	b.claim(t, job.ID, 1)
	b.expireLease(t, job.ID)
	round(time.Minute, "in_progress") // a cut
	for range 10 {
		round(time.Second, "in_progress")
	}
	round(time.Second, "queued")
}

// A call that Redis hears late, because it was frozen when the call came, takes no job: its owner could not renew either.
func TestALateReapTakesNothing(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		ctx := t.Context()
		r := b.store.NewReaperAt(time.Now)
		if err := r.Trust(ctx); err != nil {
			t.Fatal(err)
		}
		job := b.create(t, "alice")
		b.claim(t, job.ID, 0)
		b.pass(t, 2*b.cfg.LeaseTTL)
		if err := r.Reap(ctx, pipeline); err != nil {
			t.Fatal(err)
		}
		if got := b.state(t, "alice", job.ID); got != "in_progress" {
			t.Errorf("after a late call the job is %s", got)
		}
		if err := r.Trust(ctx); err != nil {
			t.Fatal(err)
		}
		if err := r.Reap(ctx, pipeline); err != nil {
			t.Fatal(err)
		}
		if got := b.state(t, "alice", job.ID); got != "queued" {
			t.Errorf("after a fresh call the job is %s", got)
		}
	})
}

// A process that goes without a word is counted once, one that says that it ends is not, and after a gap everybody has time to come back.
func TestVanishedProcessesAreCounted(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		ctx := t.Context()
		now := time.Now()
		first := b.store.NewReaperAt(func() time.Time { return now })
		killed, ended := b.store.NewReaperAt(time.Now), b.store.NewReaperAt(time.Now)
		for _, r := range []*jobs.Reaper{first, killed, ended} {
			if err := r.Trust(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := ended.Resign(ctx); err != nil {
			t.Fatal(err)
		}
		counted := func(pass time.Duration) string {
			now = now.Add(pass)
			if err := first.Round(ctx); err != nil {
				t.Fatal(err)
			}
			return b.scrape(t)["telefuser_jobs_processes_vanished_total"]
		}
		if n := counted(10 * time.Millisecond); n != "0" {
			t.Fatalf("%s processes vanished while all were up", n)
		}
		b.pass(t, b.cfg.LeaseTTL+2*b.cfg.ReapEvery)
		if n := counted(time.Minute); n != "0" {
			t.Errorf("%s processes vanished right after a gap", n)
		}
		deadline := time.Now().Add(10 * time.Second)
		n := "0"
		for n == "0" && time.Now().Before(deadline) {
			n = counted(b.cfg.LeaseTTL / 4)
		}
		if n != "1" {
			t.Errorf("%s processes vanished, want the one that did not say that it ends", n)
		}
		if n := counted(b.cfg.LeaseTTL / 4); n != "1" {
			t.Errorf("%s processes vanished after another round", n)
		}
	})
}

// Of many reapers one works, and another takes over when it goes.
func TestOneReaperWorks(t *testing.T) {
	b := onRedis(t, quick())
	ctx := t.Context()
	first, second := b.store.NewReaperAt(time.Now), b.store.NewReaperAt(time.Now)
	for _, r := range []*jobs.Reaper{first, second} {
		if err := r.Trust(ctx); err != nil {
			t.Fatal(err)
		}
	}
	job := b.create(t, "alice")
	b.claim(t, job.ID, 0)
	b.expireLease(t, job.ID)
	if err := second.Round(ctx); err != nil {
		t.Fatal(err)
	}
	if got := b.state(t, "alice", job.ID); got != "in_progress" {
		t.Fatalf("a reaper without the lock made the job %s", got)
	}
	if err := first.Resign(ctx); err != nil {
		t.Fatal(err)
	}
	if err := second.Round(ctx); err != nil {
		t.Fatal(err)
	}
	if got := b.state(t, "alice", job.ID); got != "queued" {
		t.Errorf("after the lock was given up the job is %s", got)
	}
}

// A ticket that vanished is sent anew, and so is one whose worker died between taking and claiming it.
func TestLostTicketIsSentAnew(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, b *bundle, queue, ticket string){
		"vanished": func(t *testing.T, b *bundle, queue, ticket string) {
			b.rdb.Del(t.Context(), queue+"t:"+ticket)
			b.rdb.LRem(t.Context(), queue+"pending", 0, ticket)
		},
		"taken": func(t *testing.T, b *bundle, queue, ticket string) {
			b.rdb.HSet(t.Context(), queue+"t:"+ticket, "state", "active")
			b.rdb.LMove(t.Context(), queue+"pending", queue+"active", "RIGHT", "LEFT")
		},
		"archived": func(t *testing.T, b *bundle, queue, ticket string) {
			b.rdb.HSet(t.Context(), queue+"t:"+ticket, "state", "archived")
			b.rdb.LRem(t.Context(), queue+"pending", 0, ticket)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := onRedis(t, jobs.Config{})
			ctx := t.Context()
			job := b.create(t, "alice")
			queue := "asynq:{" + b.store.Queue(pipeline) + "}:"
			b.rdb.Del(ctx, b.store.Key("outbox"))
			lose(t, b, queue, job.ID+":0")
			b.moveQueued(t, job.ID, time.Now().Add(-time.Minute).UnixMilli())
			now := time.Now()
			r := b.store.NewReaperAt(func() time.Time { return now })
			for range 2 {
				if err := r.Round(ctx); err != nil {
					t.Fatal(err)
				}
				now = now.Add(11 * time.Second)
			}
			if n := b.rdb.LLen(ctx, queue+"pending").Val(); n != 1 {
				t.Errorf("%d tickets wait", n)
			}
			b.consume(t, jobs.ConsumerConfig{}, func(ctx context.Context, c *jobs.Claim) {
				_ = c.Complete(context.WithoutCancel(ctx), result("r"))
			})
			b.eventuallyState(t, job.ID, "completed")
		})
	}
}

// A healthy ticket is left alone, however long it waits.
func TestHealthyTicketIsLeftAlone(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	job := b.create(t, "alice")
	b.moveQueued(t, job.ID, time.Now().Add(-time.Hour).UnixMilli())
	now := time.Now()
	r := b.store.NewReaperAt(func() time.Time { return now })
	for range 5 {
		if err := r.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(11 * time.Second)
	}
	if n := b.rdb.LLen(t.Context(), "asynq:{"+b.store.Queue(pipeline)+"}:pending").Val(); n != 1 {
		t.Errorf("%d tickets", n)
	}
}

// A job that came back waits anew, however old it is.
func TestQueueTimeoutCountsFromTheReturn(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		job := b.create(t, "alice")
		if _, err := b.claim(t, job.ID, 0).Requeue(t.Context(), jobs.CauseDraining); err != nil {
			t.Fatal(err)
		}
		b.moveQueued(t, job.ID, time.Now().Add(-2*b.cfg.QueueTimeout).UnixMilli())
		b.reap(t)
		if got := b.state(t, "alice", job.ID); got != "queued" {
			t.Errorf("the job is %s", got)
		}
	})
}

func TestSweepMakesGarbageOfExpired(t *testing.T) {
	each(t, jobs.Config{RetentionTTL: time.Second}, func(t *testing.T, b *bundle) {
		job := b.create(t, "alice")
		claim := b.claim(t, job.ID, 0)
		if err := claim.Complete(t.Context(), result("videos/1")); err != nil {
			t.Fatal(err)
		}
		b.reap(t)
		if got := b.garbage(t); len(got) != 0 {
			t.Fatalf("garbage %v while the video is kept", got)
		}
		b.pass(t, 1010*time.Millisecond)
		if _, err := b.store.Get(t.Context(), "alice", job.ID); !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("an expired job is shown: %v", err)
		}
		b.reap(t)
		if got := b.garbage(t); len(got) != 4 {
			t.Errorf("garbage %v, want the four objects", got)
		}
	})
}

// An entry that the janitor did not report done comes back.
func TestGarbageComesBack(t *testing.T) {
	b := setupMini(t, jobs.Config{})
	b.mini.SetTime(time.Now())
	job := b.create(t, "alice")
	if err := b.claim(t, job.ID, 0).Complete(t.Context(), result("videos/1")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Delete(t.Context(), "alice", job.ID); err != nil {
		t.Fatal(err)
	}
	first, err := b.store.NextGarbage(t.Context(), 10)
	if err != nil || len(first) != 1 || first[0].JobID != job.ID {
		t.Fatalf("garbage %+v, %v", first, err)
	}
	if again, err := b.store.NextGarbage(t.Context(), 10); err != nil || len(again) != 0 {
		t.Errorf("handed out twice: %+v, %v", again, err)
	}
	b.pass(t, 61*time.Second)
	again, err := b.store.NextGarbage(t.Context(), 10)
	if err != nil || len(again) != 1 {
		t.Fatalf("not handed out again: %+v, %v", again, err)
	}
	if err := b.store.GarbageDone(t.Context(), again...); err != nil {
		t.Fatal(err)
	}
	b.pass(t, time.Hour)
	if got := b.garbage(t); len(got) != 0 {
		t.Errorf("garbage %v after it was done", got)
	}
}

// What a running attempt had staged is deleted twice: a frozen worker may write it after the first time.
func TestZombieGarbageComesTwice(t *testing.T) {
	b := setupMini(t, jobs.Config{})
	job := b.create(t, "alice")
	if err := b.claim(t, job.ID, 0).StageKeys(t.Context(), "videos/1.mp4"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Cancel(t.Context(), "alice", job.ID); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"at once", "once more"} {
		if got := b.garbage(t); len(got) != 1 || got[0] != "videos/1.mp4" {
			t.Errorf("%s: garbage %v", when, got)
		}
		if got := b.garbage(t); len(got) != 0 {
			t.Errorf("%s: garbage %v again", when, got)
		}
		b.pass(t, b.cfg.ZombieTTL)
	}
}

// While Redis does not answer, runs go on; their commit waits for it and is the job's.
func TestRedisAway(t *testing.T) {
	b := setupMini(t, quick())
	b.reaper(t)
	started, commit := make(chan struct{}), make(chan struct{})
	var runs atomic.Int64
	var once sync.Once
	b.consume(t, jobs.ConsumerConfig{}, func(ctx context.Context, c *jobs.Claim) {
		runs.Add(1)
		once.Do(func() { close(started) })
		<-commit
		if ctx.Err() != nil {
			t.Errorf("stopped by %v", context.Cause(ctx))
		}
		if err := c.Complete(context.WithoutCancel(ctx), result("r")); err != nil {
			t.Error(err)
		}
	})
	job := b.create(t, "alice")
	within(t, started)
	b.mini.SetError("LOADING Redis is loading the dataset in memory")
	away := time.NewTimer(2 * b.cfg.LeaseTTL)
	<-away.C
	close(commit)
	eventually(t, func() bool { return b.scrape(t)["telefuser_jobs_commit_retries_total"] != "0" })
	b.mini.SetError("")
	b.eventuallyState(t, job.ID, "completed")
	if n := runs.Load(); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// A commit gives up after its time, and can be tried once more.
func TestCommitTimeout(t *testing.T) {
	cfg := quick()
	cfg.CommitTimeout = 300 * time.Millisecond
	b := setupMini(t, cfg)
	job := b.create(t, "alice")
	claim := b.claim(t, job.ID, 0)
	b.mini.SetError("LOADING")
	if err := claim.Complete(t.Context(), result("r")); !errors.Is(err, jobs.ErrUnavailable) {
		t.Fatalf("commit without Redis: %v", err)
	}
	b.mini.SetError("")
	if err := claim.Complete(t.Context(), result("r")); err != nil {
		t.Fatal(err)
	}
	if got := b.state(t, "alice", job.ID); got != "completed" {
		t.Errorf("the job is %s", got)
	}
}
