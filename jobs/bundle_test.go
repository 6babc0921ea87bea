package jobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"telefuser/internal/devstack"
	"telefuser/jobs"
)

// shared is the redis-server of the whole package; each test has keys of its own in it.
var (
	shared  *devstack.Redis
	bundles atomic.Int64
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "test-worker" {
		os.Exit(testWorker(os.Args[2:]))
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "jobs-test-")
	if err == nil {
		shared, err = devstack.StartRedis(context.Background(), dir, devstack.RedisOptions{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "these tests need redis-server:", err)
		os.Exit(1)
	}
	code := m.Run()
	shared.Stop()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// bundle is a store with a Redis of one kind behind it.
type bundle struct {
	store *jobs.Store
	rdb   jobs.Client
	addr  string
	cfg   jobs.Config
	logs  *logBuffer
	mini  *miniredis.Miniredis
}

// logBuffer keeps log lines for the test to read.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// each runs a test on miniredis and on a real redis-server.
func each(t *testing.T, cfg jobs.Config, f func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		m := miniredis.RunT(t)
		b := setup(t, m.Addr(), cfg)
		b.mini = m
		f(t, b)
	})
	t.Run("redis", func(t *testing.T) { f(t, onRedis(t, cfg)) })
}

// onRedis makes a bundle on the shared redis-server.
func onRedis(tb testing.TB, cfg jobs.Config) *bundle {
	tb.Helper()
	return setup(tb, shared.Addr, cfg)
}

func setup(tb testing.TB, addr string, cfg jobs.Config) *bundle {
	tb.Helper()
	if cfg.Prefix == "" {
		cfg.Prefix = fmt.Sprintf("t%d", bundles.Add(1))
	}
	rdb, err := jobs.Connect(tb.Context(), jobs.RedisConfig{Addr: addr})
	if err != nil {
		tb.Fatal(err)
	}
	logs := new(logBuffer)
	store, err := jobs.New(cfg, rdb, slog.New(slog.NewTextHandler(io.MultiWriter(logs), &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
		if err := rdb.Close(); err != nil {
			tb.Error(err)
		}
		if tb.Failed() {
			tb.Log(logs.String())
		}
	})
	return &bundle{store: store, rdb: rdb, addr: addr, cfg: store.Config(), logs: logs}
}

// pass lets time go by on the clock of Redis: at once on miniredis, really on a server.
func (b *bundle) pass(t *testing.T, d time.Duration) {
	t.Helper()
	start := b.clock(t)
	if b.mini != nil {
		b.mini.SetTime(start.Add(d))
		b.mini.FastForward(d)
		return
	}
	eventually(t, func() bool { return b.clock(t).Sub(start) >= d })
}

func (b *bundle) clock(t *testing.T) time.Time {
	t.Helper()
	now, err := b.rdb.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

const patience = 20 * time.Second

// eventually waits for a condition.
func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !ok() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatal("the condition never held")
		}
	}
}

// within waits for a signal.
func within[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("the signal never came")
		panic("unreachable")
	}
}

const pipeline = "terrain"

func spec(prompt string) jobs.Spec {
	return jobs.Spec{Pipeline: pipeline, Model: "terrain", Task: "t2v", Prompt: prompt, Width: 832, Height: 480, FPS: 16, Frames: 77, Seed: 42, Seconds: "4.8"}
}

func (b *bundle) create(t testing.TB, tenant string) jobs.Job {
	t.Helper()
	job, replayed, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: tenant, Spec: spec("a valley at dawn")})
	if err != nil || replayed {
		t.Fatalf("create: replayed %v, %v", replayed, err)
	}
	return job
}

func (b *bundle) get(t testing.TB, tenant, id string) jobs.Job {
	t.Helper()
	job, err := b.store.Get(t.Context(), tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// state reads a job's state, "missing" when there is none.
func (b *bundle) state(t testing.TB, tenant, id string) string {
	t.Helper()
	job, err := b.store.Get(t.Context(), tenant, id)
	if errors.Is(err, jobs.ErrNotFound) {
		return "missing"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(job.State)
}

func (b *bundle) claim(t testing.TB, id string, attempt int) *jobs.Claim {
	t.Helper()
	claim, err := b.store.Claim(t.Context(), pipeline, "worker-1", id, attempt)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

// expireLease ends a job's lease as time would.
func (b *bundle) expireLease(t testing.TB, id string) {
	t.Helper()
	if err := b.rdb.ZAddXX(t.Context(), b.store.Key("r:"+pipeline), redis.Z{Score: 1, Member: id}).Err(); err != nil {
		t.Fatal(err)
	}
}

// reap runs one round of a reaper that has seen Redis all the time.
func (b *bundle) reap(t testing.TB) {
	t.Helper()
	r := b.store.NewReaperAt(time.Now)
	if err := r.Trust(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// keys lists all keys of the store and of its queue, without those that hold no job.
func (b *bundle) keys(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{b.cfg.Prefix + ":*", "asynq:{" + b.cfg.Prefix + ".*"} {
		found, err := b.rdb.Keys(t.Context(), pattern).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range found {
			if !strings.HasSuffix(k, ":totals") && !strings.HasSuffix(k, ":pipelines") && !strings.Contains(k, ":processed") && !strings.Contains(k, ":failed") {
				out = append(out, k)
			}
		}
	}
	return out
}

func result(key string) jobs.Result {
	return jobs.Result{VideoKey: key + ".mp4", ThumbnailKey: key + ".webp", SpritesheetKey: key + ".jpg", ManifestKey: key + ".json",
		SizeBytes: 1234, SHA256: strings.Repeat("ab", 32), Frames: 77, Seconds: "4.8"}
}

// moveQueued makes a queued job look as if it had been queued at another time.
func (b *bundle) moveQueued(t testing.TB, id string, ms int64) {
	t.Helper()
	if err := b.rdb.ZAddXX(t.Context(), b.store.Key("q:"+pipeline), redis.Z{Score: float64(ms) * 1000, Member: id}).Err(); err != nil {
		t.Fatal(err)
	}
}

// setupMini makes a bundle on a miniredis alone, for faults that only it can play.
func setupMini(t *testing.T, cfg jobs.Config) *bundle {
	t.Helper()
	m := miniredis.RunT(t)
	b := setup(t, m.Addr(), cfg)
	b.mini = m
	return b
}

// garbage takes all garbage that is due and returns its keys, sorted.
func (b *bundle) garbage(t testing.TB) []string {
	t.Helper()
	all, err := b.store.NextGarbage(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, g := range all {
		keys = append(keys, g.Keys...)
	}
	if err := b.store.GarbageDone(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	sort.Strings(keys)
	return keys
}

// equalJSON compares two values by what they write.
func equalJSON(t testing.TB, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x, y)
}
