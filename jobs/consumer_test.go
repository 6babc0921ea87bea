package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"telefuser/jobs"
)

// quick are lease times for tests: real clocks, short waits, and room for a loaded machine.
func quick() jobs.Config {
	return jobs.Config{LeaseTTL: 900 * time.Millisecond, RenewEvery: 200 * time.Millisecond, ProgressEvery: 20 * time.Millisecond, ReapEvery: 50 * time.Millisecond}
}

// consume runs a consumer until the test ends, or until the returned stop, which waits for it and returns its error.
func (b *bundle) consume(t testing.TB, cfg jobs.ConsumerConfig, run jobs.RunFunc) (stop func() error) {
	t.Helper()
	if cfg.Pipeline == "" {
		cfg.Pipeline = pipeline
	}
	if cfg.Owner == "" {
		cfg.Owner = "worker-1"
	}
	if cfg.DrainTimeout == 0 {
		cfg.DrainTimeout = 5 * time.Second
	}
	consumer, err := b.store.NewConsumer(cfg, run)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- consumer.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// reaper runs a reaper until the test ends.
func (b *bundle) reaper(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- b.store.RunReaper(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (b *bundle) eventuallyState(t testing.TB, id, want string) {
	t.Helper()
	eventually(t, func() bool { return b.state(t, "alice", id) == want })
}

func TestRunToCompletion(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		staged, go1 := make(chan struct{}), make(chan struct{})
		b.consume(t, jobs.ConsumerConfig{}, func(ctx context.Context, c *jobs.Claim) {
			if err := c.StageKeys(ctx, "videos/1.mp4", "videos/1.tmp"); err != nil {
				t.Error(err)
			}
			c.Progress(10, "generating")
			c.Progress(200, "encoding")
			c.Progress(50, "encoding")
			close(staged)
			<-go1
			if err := c.Complete(context.WithoutCancel(ctx), result("videos/1")); err != nil {
				t.Error(err)
			}
			if err := c.Complete(context.WithoutCancel(ctx), result("videos/1")); !errors.Is(err, jobs.ErrStale) {
				t.Errorf("settled twice: %v", err)
			}
		})
		job := b.create(t, "alice")
		within(t, staged)
		eventually(t, func() bool { return b.get(t, "alice", job.ID).Progress == 99 })
		running := b.get(t, "alice", job.ID)
		if running.State != jobs.StateInProgress || running.Attempt != 1 || running.Owner != "worker-1" || running.Phase != "encoding" || running.StartedAt.Before(running.CreatedAt) {
			t.Errorf("running: %+v", running)
		}
		close(go1)
		b.eventuallyState(t, job.ID, "completed")
		done := b.get(t, "alice", job.ID)
		if done.Progress != 100 || done.Owner != "" || done.Phase != "" || done.Result == nil || !equalJSON(t, *done.Result, result("videos/1")) ||
			!done.ExpiresAt.Equal(done.CompletedAt.Add(b.cfg.RetentionTTL)) {
			t.Errorf("done: %+v", done)
		}
		if got := b.garbage(t); len(got) != 1 || got[0] != "videos/1.tmp" {
			t.Errorf("garbage %v, want what was staged and not kept", got)
		}
		eventually(t, func() bool {
			n := b.rdb.Exists(t.Context(), "asynq:{"+b.store.Queue(pipeline)+"}:t:"+job.ID+":0").Val()
			return n == 0
		})
	})
}

// Two messages for one attempt, under different names, start one run.
func TestTicketTwice(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		job := b.create(t, "alice")
		for i := range 5 {
			if err := b.store.SendTicket(t.Context(), pipeline, job.ID, 0, fmt.Sprint(":", i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.store.SendTicket(t.Context(), pipeline, job.ID, 0, ""); err != nil {
			t.Errorf("the ticket is there already, which is success: %v", err)
		}
		var runs atomic.Int64
		go1 := make(chan struct{})
		b.consume(t, jobs.ConsumerConfig{Slots: 4}, func(ctx context.Context, c *jobs.Claim) {
			runs.Add(1)
			<-go1
			if err := c.Complete(context.WithoutCancel(ctx), result("r")); err != nil {
				t.Error(err)
			}
		})
		queue := "asynq:{" + b.store.Queue(pipeline) + "}:"
		eventually(t, func() bool {
			return runs.Load() == 1 && b.rdb.LLen(t.Context(), queue+"pending").Val() == 0 && b.rdb.LLen(t.Context(), queue+"active").Val() == 1
		})
		close(go1)
		b.eventuallyState(t, job.ID, "completed")
		if n := runs.Load(); n != 1 {
			t.Errorf("%d runs", n)
		}
	})
}

func TestCancelStopsTheRun(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		started, cause := make(chan string, 10), make(chan error, 10)
		b.consume(t, jobs.ConsumerConfig{}, func(ctx context.Context, c *jobs.Claim) {
			if err := c.StageKeys(ctx, "videos/"+c.ID); err != nil {
				t.Error(err)
			}
			started <- c.ID
			<-ctx.Done()
			cause <- context.Cause(ctx)
			if err := c.Complete(context.WithoutCancel(ctx), result("late")); !errors.Is(err, jobs.ErrStale) {
				t.Errorf("a cancelled run committed: %v", err)
			}
		})
		for _, end := range []func(context.Context, string, string) (jobs.Job, error){b.store.Cancel, b.store.Delete} {
			job := b.create(t, "alice")
			within(t, started)
			if _, err := end(t.Context(), "alice", job.ID); err != nil {
				t.Fatal(err)
			}
			if err := within(t, cause); !errors.Is(err, jobs.ErrCancelled) {
				t.Errorf("stopped by %v", err)
			}
			if got := b.garbage(t); len(got) != 1 || got[0] != "videos/"+job.ID {
				t.Errorf("garbage %v, want what the run had staged", got)
			}
		}
	})
}

// A run learns of its end by a message, long before its next renewal.
func TestCancelIsFast(t *testing.T) {
	b := onRedis(t, jobs.Config{LeaseTTL: time.Minute, RenewEvery: 20 * time.Second})
	started, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	b.consume(t, jobs.ConsumerConfig{}, func(ctx context.Context, c *jobs.Claim) {
		c.Progress(1, "generating")
		started <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
	})
	job := b.create(t, "alice")
	within(t, started)
	eventually(t, func() bool { return b.get(t, "alice", job.ID).Progress == 1 }) // the first renewal is over
	channel := b.store.Key("stop")
	eventually(t, func() bool { return b.rdb.PubSubNumSub(t.Context(), channel).Val()[channel] == 1 })
	start := time.Now()
	if _, err := b.store.Cancel(t.Context(), "alice", job.ID); err != nil {
		t.Fatal(err)
	}
	within(t, ended)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("the run ended %v after the cancellation", took)
	}
}

// An attempt that is neither settled nor told to stop is a crash, and so is a panic; the budget of deaths ends both.
func TestUnsettledIsACrash(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		var runs atomic.Int64
		b.consume(t, jobs.ConsumerConfig{}, func(context.Context, *jobs.Claim) {
			if runs.Add(1) == 2 {
				panic("a bug")
			}
		})
		job := b.create(t, "alice")
		b.eventuallyState(t, job.ID, "failed")
		got := b.get(t, "alice", job.ID)
		if got.Failure.Code != jobs.CodeWorkerCrashed || got.Attempt != b.cfg.DeathsMax || runs.Load() != int64(b.cfg.DeathsMax) {
			t.Errorf("after %d runs: %+v, %+v", runs.Load(), got, got.Failure)
		}
		if !strings.Contains(b.logs.String(), "a bug") {
			t.Error("the panic was not logged")
		}
	})
}

// Each cause has its budget, and pays from no other's.
func TestBudgets(t *testing.T) {
	cfg := quick()
	cfg.OOMMax, cfg.TransientMax, cfg.StallsMax, cfg.DevicesMax, cfg.DeathsMax = 1, 2, 1, 3, 2
	each(t, cfg, func(t *testing.T, b *bundle) {
		for _, c := range []struct {
			cause    jobs.Cause
			attempts int
			code     string
		}{{jobs.CauseCrash, 2, jobs.CodeWorkerCrashed}, {jobs.CauseOOM, 2, jobs.CodeOutOfMemory}, {jobs.CauseTransient, 3, jobs.CodeInternal},
			{jobs.CauseStalled, 2, jobs.CodeStalled}, {jobs.CauseDevice, 4, jobs.CodeWorkerCrashed}} {
			t.Run(string(c.cause), func(t *testing.T) {
				job := b.create(t, "alice")
				state := jobs.StateQueued
				attempt := 0
				for ; state == jobs.StateQueued; attempt++ {
					claim := b.claim(t, job.ID, attempt)
					if attempt == 0 {
						if _, err := copyOf(claim).Requeue(t.Context(), jobs.CauseDraining); err != nil {
							t.Fatal(err)
						}
						continue
					}
					var err error
					if state, err = claim.Requeue(t.Context(), c.cause); err != nil {
						t.Fatal(err)
					}
				}
				if got := b.get(t, "alice", job.ID); attempt-1 != c.attempts || got.Failure.Code != c.code {
					t.Errorf("failed after %d charged attempts with %+v", attempt-1, got.Failure)
				}
			})
		}
	})
}

// A record of a newer version waits for a newer worker.
func TestNewerRecordIsLeftAlone(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		job := b.create(t, "alice")
		b.rdb.HSet(t.Context(), b.store.Key("j:"+job.ID), "v", jobs.SchemaVersion+1)
		var runs atomic.Int64
		b.consume(t, jobs.ConsumerConfig{}, func(context.Context, *jobs.Claim) { runs.Add(1) })
		queue := "asynq:{" + b.store.Queue(pipeline) + "}:"
		eventually(t, func() bool { return b.rdb.ZCard(t.Context(), queue+"retry").Val() == 1 })
		if got := b.state(t, "alice", job.ID); got != "queued" || runs.Load() != 0 {
			t.Errorf("%s after %d runs", got, runs.Load())
		}
	})
}

// Garbage in the queue, by our hand or not, stops nothing.
func TestGarbageInTheQueue(t *testing.T) {
	b := onRedis(t, quick())
	ctx := t.Context()
	client := asynq.NewClientFromRedisClient(b.rdb)
	for i, task := range []*asynq.Task{asynq.NewTask(jobs.TicketType, []byte("\xff\x00")), asynq.NewTask(jobs.TicketType, []byte(jobs.NewID(time.Now())+" 0")),
		asynq.NewTask("job:run:v99", []byte("x"))} {
		if _, err := client.EnqueueContext(ctx, task, asynq.Queue(b.store.Queue(pipeline)), asynq.TaskID(fmt.Sprint("bad", i))); err != nil {
			t.Fatal(err)
		}
	}
	queue := "asynq:{" + b.store.Queue(pipeline) + "}:"
	b.rdb.HSet(ctx, queue+"t:broken", "msg", "not a message", "state", "pending")
	b.rdb.LPush(ctx, queue+"pending", "broken", "without-hash")
	b.consume(t, jobs.ConsumerConfig{}, func(ctx context.Context, c *jobs.Claim) {
		if err := c.Complete(context.WithoutCancel(ctx), result("r")); err != nil {
			t.Error(err)
		}
	})
	job := b.create(t, "alice")
	b.eventuallyState(t, job.ID, "completed")
	// What was dropped is logged.
	eventually(t, func() bool {
		return strings.Contains(b.logs.String(), "ticket dropped") && strings.Contains(b.logs.String(), "cannot decode")
	})
}

// First in, first out; and a job that comes back goes before those that never ran.
func TestOrder(t *testing.T) {
	b := onRedis(t, quick())
	var want []string
	for range 6 {
		want = append(want, b.create(t, "alice").ID)
	}
	claim := b.claim(t, want[0], 0)
	if _, err := claim.Requeue(t.Context(), jobs.CauseDraining); err != nil {
		t.Fatal(err)
	}
	if position, _, err := b.store.QueuePosition(t.Context(), b.get(t, "alice", want[0])); err != nil || position != 1 {
		t.Errorf("the job that came back is at %d, %v", position, err)
	}
	ran := make(chan string, len(want))
	b.consume(t, jobs.ConsumerConfig{}, func(ctx context.Context, c *jobs.Claim) {
		ran <- c.ID
		if err := c.Complete(context.WithoutCancel(ctx), result("r")); err != nil {
			t.Error(err)
		}
	})
	for i, id := range want {
		if got := within(t, ran); got != id {
			t.Errorf("place %d: %s, want %s", i, got, id)
		}
	}
}

// After a delete or an end nothing of a job is left but its garbage.
func TestNothingLeftBehind(t *testing.T) {
	cfg := quick()
	cfg.DedupeTTL, cfg.ZombieTTL = 50*time.Millisecond, 50*time.Millisecond
	b := onRedis(t, cfg)
	stop := b.consume(t, jobs.ConsumerConfig{Slots: 4}, func(ctx context.Context, c *jobs.Claim) {
		_ = c.StageKeys(ctx, "videos/"+c.ID)
		_ = c.Complete(context.WithoutCancel(ctx), result("videos/"+c.ID))
	})
	var ids []string
	for range 30 {
		job, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "alice", Spec: spec("x"), Fingerprint: digest("x")})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, job.ID)
	}
	for i, id := range ids {
		if i%2 == 0 {
			b.eventuallyState(t, id, "completed")
		}
		if _, err := b.store.Delete(t.Context(), "alice", id); err != nil {
			t.Fatal(err)
		}
	}
	queue := "asynq:{" + b.store.Queue(pipeline) + "}:"
	eventually(t, func() bool {
		return b.rdb.LLen(t.Context(), queue+"pending").Val()+b.rdb.LLen(t.Context(), queue+"active").Val() == 0
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.pass(t, 110*time.Millisecond)
	b.garbage(t)
	b.pass(t, 2100*time.Millisecond)
	b.reap(t)
	eventually(t, func() bool { return len(b.keys(t)) == 0 })
}

// A pulse that was long on its way arrives after a later one: the progress stays what it was.
func TestALatePulseDoesNotTurnProgressBack(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		job := b.create(t, "alice")
		claim := b.claim(t, job.ID, 0)
		late := claim.Again()
		claim.Progress(95, "storing")
		late.Progress(10, "generating")
		for _, c := range []*jobs.Claim{claim, late} {
			if cause, err := b.store.Pulse(t.Context(), c); err != nil || cause != nil {
				t.Fatal(cause, err)
			}
		}
		if got := b.get(t, "alice", job.ID); got.Progress != 95 || got.Phase != "storing" {
			t.Errorf("progress %d, %s", got.Progress, got.Phase)
		}
	})
}
