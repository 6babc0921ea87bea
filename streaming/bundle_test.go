package streaming_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"telefuser/internal/devstack"
	"telefuser/streaming"
)

// shared is the redis-server of the whole package; each test has keys of its own in it.
var (
	shared  *devstack.Redis
	bundles atomic.Int64
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "streaming-test-")
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

// bundle is a store on the real Redis with rooms of the test's.
type bundle struct {
	*testing.T
	store  *streaming.Store
	rdb    *redis.Client
	rooms  *rooms
	prefix string
	log    *slog.Logger
	nextID int
}

// patience is how long a test waits for what must come.
const patience = 15 * time.Second

func newBundle(t *testing.T, cfg streaming.Config) *bundle {
	t.Helper()
	cfg.Prefix = "t" + strconv.FormatInt(bundles.Add(1), 10)
	rdb := redis.NewClient(&redis.Options{Network: shared.Network, Addr: shared.Addr, PoolSize: 32})
	t.Cleanup(func() {
		if err := rdb.Close(); err != nil {
			t.Error(err)
		}
	})
	level := slog.LevelError + 4
	if testing.Verbose() {
		level = slog.LevelDebug
	}
	b := &bundle{T: t, rdb: rdb, rooms: newRooms(), prefix: cfg.Prefix, log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))}
	var err error
	if b.store, err = streaming.New(cfg, rdb, b.log); err != nil {
		t.Fatal(err)
	}
	return b
}

// quick are time-outs for tests.
func quick() streaming.Config {
	return streaming.Config{LeaseTTL: 600 * time.Millisecond, RenewEvery: 150 * time.Millisecond, WorkerTTL: 600 * time.Millisecond, ReapEvery: 50 * time.Millisecond}
}

// spec is a session of small, fast pictures.
func spec() streaming.Spec {
	return streaming.Spec{Pipeline: "terrain", Prompt: "hills", Width: 16, Height: 16, FPS: 100, Controller: "ann"}
}

func (b *bundle) create(change func(*streaming.Spec)) streaming.Session {
	b.Helper()
	s, err := b.tryCreate(change)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (b *bundle) tryCreate(change func(*streaming.Spec)) (streaming.Session, error) {
	b.nextID++
	s := spec()
	if change != nil {
		change(&s)
	}
	return b.store.Create(b.Context(), streaming.CreateRequest{Tenant: "alice", ID: fmt.Sprintf("s%d", b.nextID), Spec: s})
}

func (b *bundle) get(id string) streaming.Session {
	b.Helper()
	s, err := b.store.Get(b.Context(), "alice", id)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// until waits for a condition.
func (b *bundle) until(what string, ok func() bool) {
	b.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			b.Fatalf("waited in vain: %s", what)
		}
	}
}

// ends waits for the end of a session and checks its reason.
func (b *bundle) ends(id, reason string) streaming.Session {
	b.Helper()
	var s streaming.Session
	b.until(id+" ends as "+reason, func() bool { s = b.get(id); return s.Status.Terminal() })
	if s.Reason != reason || s.Status != streaming.EndStatus(reason) || s.Message == "" || s.EndedAt.IsZero() {
		b.Fatalf("ended as %s %s %q, want %s", s.Status, s.Reason, s.Message, reason)
	}
	return s
}

func (b *bundle) health() streaming.Health {
	b.Helper()
	h, err := b.store.Health(b.Context(), "terrain")
	if err != nil {
		b.Fatal(err)
	}
	return h
}

// runs starts something that runs until its context ends, and waits for it at the end of the test.
func (b *bundle) runs(run func(context.Context) error) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); err != nil {
			b.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	b.Cleanup(stop)
	return stop
}

// reaper starts the reaper.
func (b *bundle) reaper() {
	b.runs(func(ctx context.Context) error { return b.store.Run(ctx, b.rooms) })
}

var owners atomic.Int64

// pool starts a pool of one engine, and waits until its worker can be claimed from.
func (b *bundle) pool(cfg streaming.PoolConfig, engine streaming.Engine) (p *streaming.Pool, stop func()) {
	b.Helper()
	cfg.Owner, cfg.Pipeline = "host-"+strconv.FormatInt(owners.Add(1), 10), "terrain"
	if cfg.Grace == 0 {
		cfg.Grace = -1
	}
	p, err := streaming.NewPool(cfg, b.store, []streaming.Engine{engine}, b.rooms, b.log)
	if err != nil {
		b.Fatal(err)
	}
	stop = b.runs(p.Run)
	id := p.WorkerIDs()[0]
	b.until("worker is up", func() bool {
		for _, w := range b.health().Workers {
			if w.ID == id {
				return true
			}
		}
		return false
	})
	return p, stop
}

// idle registers a worker that claims nothing.
func (b *bundle) idle(id string, slots int) {
	b.Helper()
	if _, err := b.store.Heartbeat(b.Context(), streaming.Worker{ID: id, Pipeline: "terrain", Status: streaming.WorkerReady, Slots: slots}); err != nil {
		b.Fatal(err)
	}
}

// message is what a client of a room reads.
type message map[string]any

func (m message) data() message {
	d, _ := m["data"].(map[string]any)
	return d
}

func (m message) stage() string {
	stage, _ := m.data()["stage"].(string)
	return stage
}

func decode(t *testing.T, payload []byte) message {
	t.Helper()
	var m message
	if err := json.Unmarshal(payload, &m); err != nil {
		t.Fatalf("not JSON: %s", payload)
	}
	return m
}

// keys are the store's keys in Redis, without the registry.
func (b *bundle) keys() []string {
	b.Helper()
	all, err := b.rdb.Keys(b.Context(), b.prefix+":*").Result()
	if err != nil {
		b.Fatal(err)
	}
	var out []string
	for _, k := range all {
		if !strings.Contains(k, ":pipelines") && !strings.Contains(k, ":w") {
			out = append(out, k)
		}
	}
	return out
}
