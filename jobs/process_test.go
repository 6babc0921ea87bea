package jobs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"telefuser/internal/devstack"
	"telefuser/jobs"
)

// testWorker is a worker process: it tells each run on its standard output and commits it after the given pause.
// Its arguments are the address, the prefix, its name and the pause.
func testWorker(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pause, err := time.ParseDuration(args[3])
	if err != nil {
		return 2
	}
	cfg := quick()
	cfg.Prefix = args[1]
	rdb, err := jobs.Connect(ctx, jobs.RedisConfig{Addr: args[0]})
	if err != nil {
		return 3
	}
	defer func() { _ = rdb.Close() }()
	store, err := jobs.New(cfg, rdb, slog.New(slog.DiscardHandler))
	if err != nil {
		return 4
	}
	consumer, err := store.NewConsumer(jobs.ConsumerConfig{Pipeline: pipeline, Owner: args[2]}, func(ctx context.Context, c *jobs.Claim) {
		fmt.Println("run", c.ID, c.Attempt)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		err := c.Complete(context.WithoutCancel(ctx), result(args[2]))
		fmt.Println("end", c.ID, c.Attempt, err)
	})
	if err != nil {
		return 5
	}
	if err := consumer.Run(ctx); err != nil {
		return 6
	}
	return 0
}

// workerProcess is a running testWorker.
type workerProcess struct {
	cmd   *exec.Cmd
	lines chan string
}

func (b *bundle) worker(t *testing.T, name string, pause time.Duration) *workerProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0], "test-worker", b.addr, b.cfg.Prefix, name, pause.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &workerProcess{cmd: cmd, lines: make(chan string, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			w.lines <- scan.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			case <-w.lines: // nobody reads on, and it must not wait for that
			}
		}
		_ = cmd.Wait()
	})
	return w
}

func (w *workerProcess) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := w.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// The worker of attempt 1 is killed; another one runs attempt 2 soon after its lease is over.
func TestWorkerKilled(t *testing.T) {
	b := onRedis(t, quick())
	b.reaper(t)
	job := b.create(t, "alice")
	first := b.worker(t, "first", time.Hour)
	if line := within(t, first.lines); line != "run "+job.ID+" 1" {
		t.Fatal(line)
	}
	killed := time.Now()
	first.signal(t, syscall.SIGKILL)
	second := b.worker(t, "second", 0)
	if line := within(t, second.lines); line != "run "+job.ID+" 2" {
		t.Fatal(line)
	}
	t.Logf("attempt 2 started %v after the kill, with a lease of %v", time.Since(killed).Round(time.Millisecond), b.cfg.LeaseTTL)
	b.eventuallyState(t, job.ID, "completed")
}

// The worker of attempt 1 is frozen until attempt 2 has committed; its own commit then is stale.
func TestWorkerFrozen(t *testing.T) {
	b := onRedis(t, quick())
	b.reaper(t)
	job := b.create(t, "alice")
	frozen := b.worker(t, "frozen", 300*time.Millisecond)
	if line := within(t, frozen.lines); line != "run "+job.ID+" 1" {
		t.Fatal(line)
	}
	frozen.signal(t, syscall.SIGSTOP)
	second := b.worker(t, "second", 0)
	if line := within(t, second.lines); line != "run "+job.ID+" 2" {
		t.Fatal(line)
	}
	b.eventuallyState(t, job.ID, "completed")
	frozen.signal(t, syscall.SIGCONT)
	if line := within(t, frozen.lines); !strings.Contains(line, jobs.ErrStale.Error()) {
		t.Errorf("the frozen worker ended with %q", line)
	}
	if got := b.get(t, "alice", job.ID); got.Result.VideoKey != "second.mp4" || got.Attempt != 2 {
		t.Errorf("the result is %+v of attempt %d", got.Result, got.Attempt)
	}
}

// A job that kills every worker ends after DeathsMax of them.
func TestPoison(t *testing.T) {
	b := onRedis(t, quick())
	b.reaper(t)
	job := b.create(t, "alice")
	for n := range b.cfg.DeathsMax {
		w := b.worker(t, fmt.Sprint("victim", n), time.Hour)
		if line := within(t, w.lines); line != fmt.Sprint("run ", job.ID, " ", n+1) {
			t.Fatal(line)
		}
		w.signal(t, syscall.SIGKILL)
	}
	b.eventuallyState(t, job.ID, "failed")
	if got := b.get(t, "alice", job.ID); got.Failure.Code != jobs.CodeWorkerCrashed {
		t.Errorf("failed with %+v", got.Failure)
	}
}

// redis-server is killed under load and comes back with its append-only file: every job that was accepted is there and runs once. The file is synced with every
// write, because with a sync every second Redis holds writes back, for up to two seconds, while the disk is slow.
func TestRedisKilled(t *testing.T) {
	server, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{AppendFsync: "always"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	b := setup(t, server.Addr, quick())
	b.reaper(t)
	var mu sync.Mutex
	runs := map[string]int{}
	b.consume(t, jobs.ConsumerConfig{Slots: 4}, func(ctx context.Context, c *jobs.Claim) {
		if err := c.Complete(context.WithoutCancel(ctx), result(c.ID)); err != nil {
			t.Errorf("commit %s: %v", c.ID, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		runs[c.ID]++
	})
	ctx, stop := context.WithCancel(t.Context())
	var accepted []string
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for ctx.Err() == nil {
				job, _, err := b.store.Create(context.WithoutCancel(ctx), jobs.CreateRequest{Tenant: "alice", Spec: spec("x")})
				if err == nil {
					mu.Lock()
					accepted = append(accepted, job.ID)
					mu.Unlock()
				}
			}
		})
	}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(accepted) }
	eventually(t, func() bool { return count() > 300 })
	server.Kill()
	if err := server.Restart(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	before := count()
	eventually(t, func() bool { return count() > before+100 })
	stop()
	load.Wait()
	for _, id := range accepted {
		if b.state(t, "alice", id) == "missing" {
			t.Fatalf("job %s was accepted and is lost", id)
		}
		b.eventuallyState(t, id, "completed")
	}
	mu.Lock()
	defer mu.Unlock()
	for id, n := range runs {
		if n != 1 {
			t.Errorf("job %s was committed %d times", id, n)
		}
	}
	t.Logf("%d jobs accepted, none lost", len(accepted))
}

// A full Redis refuses creates; what runs still ends, and after that there is room again.
func TestRedisFull(t *testing.T) {
	server, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	b := setup(t, server.Addr, jobs.Config{})
	ctx := t.Context()
	job := b.create(t, "alice")
	claim := b.claim(t, job.ID, 0)
	b.rdb.ConfigSet(ctx, "maxmemory", "1")
	if _, _, err := b.store.Create(ctx, jobs.CreateRequest{Tenant: "alice", Spec: spec("x")}); err == nil {
		t.Error("a full Redis took a job")
	}
	list, _, err := b.store.List(ctx, "alice", jobs.ListQuery{})
	if err != nil || len(list) != 1 {
		t.Errorf("%d jobs, %v: the refused one left something", len(list), err)
	}
	if err := claim.Complete(ctx, result("r")); err != nil {
		t.Errorf("a full Redis refuses to end a run: %v", err)
	}
	if _, err := b.store.Delete(ctx, "alice", job.ID); err != nil {
		t.Errorf("a full Redis refuses a deletion: %v", err)
	}
	b.rdb.ConfigSet(ctx, "maxmemory", "0")
	eventually(t, func() bool {
		_, _, err := b.store.Create(ctx, jobs.CreateRequest{Tenant: "alice", Spec: spec("x")})
		return err == nil
	})
}

// After a flush a running job is gone: its worker stops, its commit is stale, and the loss is seen by Ping until somebody marks the new start.
func TestFlush(t *testing.T) {
	server, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	b := setup(t, server.Addr, quick())
	b.reaper(t)
	ctx := t.Context()
	if err := b.store.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan struct{}, 10), make(chan error, 10)
	b.consume(t, jobs.ConsumerConfig{DrainTimeout: -1}, func(ctx context.Context, c *jobs.Claim) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- c.Complete(context.WithoutCancel(ctx), result("r"))
	})
	b.create(t, "alice")
	within(t, started)
	if err := b.rdb.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if err := within(t, ended); !errors.Is(err, jobs.ErrStale) {
		t.Errorf("the run ended with %v", err)
	}
	if err := b.store.Ping(ctx); !errors.Is(err, jobs.ErrDataLost) {
		t.Errorf("ping after the flush: %v", err)
	}
	if err := b.store.MarkRebuilt(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.store.Ping(ctx); err != nil {
		t.Errorf("ping after the new mark: %v", err)
	}
	b.create(t, "alice")
	within(t, started)
}

// A Redis that is full at 80 % refuses creates, and at 100 % even stops the queue that delivers tickets. Workers drain it all the same, and then it takes jobs again.
func TestFullRedisDrains(t *testing.T) {
	for name, percent := range map[string]int64{"above the ratio": 115, "above the limit": 95} {
		t.Run(name, func(t *testing.T) {
			server, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { server.Stop() })
			ctx := t.Context()
			cfg := quick()
			cfg.LeaseTTL, cfg.RenewEvery = 3*time.Second, 500*time.Millisecond
			b := setup(t, server.Addr, cfg)
			b.reaper(t)
			b.fill(t, 2000)
			var ids []string
			for range 20 {
				ids = append(ids, b.create(t, "alice").ID)
			}
			if err := b.rdb.ConfigSet(ctx, "maxmemory", fmt.Sprint(usedMemory(t, b)*percent/100)).Err(); err != nil {
				t.Fatal(err)
			}
			var refused error
			eventually(t, func() bool {
				_, _, refused = b.store.Create(ctx, jobs.CreateRequest{Tenant: "alice", Spec: spec("x")})
				return refused != nil
			})
			if !errors.Is(refused, jobs.ErrMemoryFull) {
				t.Errorf("refused with %v", refused)
			}
			eventually(t, func() bool {
				_, err := b.store.AllowCreate(ctx, "local")
				return errors.Is(err, jobs.ErrMemoryFull)
			})
			b.consume(t, jobs.ConsumerConfig{Slots: 4, LookInterval: 20 * time.Millisecond}, func(ctx context.Context, c *jobs.Claim) {
				if err := c.Complete(context.WithoutCancel(ctx), jobs.Result{VideoKey: "v", Seconds: "4"}); err != nil {
					t.Error(err)
				}
			})
			eventually(t, func() bool {
				counts, err := b.store.Counts(ctx, pipeline)
				return err == nil && counts.Queued == 0 && counts.Running == 0
			})
			for _, id := range ids {
				b.eventuallyState(t, id, "completed")
			}
			b.rdb.ConfigSet(ctx, "maxmemory", "0")
			eventually(t, func() bool {
				_, _, err := b.store.Create(ctx, jobs.CreateRequest{Tenant: "alice", Spec: spec("x")})
				return err == nil
			})
		})
	}
}
