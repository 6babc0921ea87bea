package webhooks_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"telefuser/internal/devstack"
	"telefuser/internal/outbound"
	"telefuser/internal/outbound/outboundtest"
	"telefuser/jobs"
	"telefuser/webhooks"
)

var (
	shared  *devstack.Redis
	bundles atomic.Int64
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "webhooks-test-")
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

// bundle is a store on a real Redis, and a small internet.
type bundle struct {
	store  *jobs.Store
	stage  *outboundtest.Stage
	client *outbound.Client
	logs   *logBuffer
}

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

func setup(t *testing.T, change ...func(*outbound.Config)) *bundle {
	t.Helper()
	b := &bundle{stage: outboundtest.NewStage(t, "../internal/outbound/testdata/ssrf.txt"), logs: &logBuffer{}}
	rdb, err := jobs.Connect(t.Context(), jobs.RedisConfig{Addr: shared.Addr})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if b.store, err = jobs.New(jobs.Config{Prefix: fmt.Sprintf("w%d", bundles.Add(1)), WebhooksPerTenantMax: 1000}, rdb, log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
		if err := rdb.Close(); err != nil {
			t.Error(err)
		}
	})
	b.stage.Config.Timeout, b.stage.Config.StallTimeout = 2*time.Second, time.Second
	for _, c := range change {
		c(&b.stage.Config)
	}
	if b.client, err = outbound.New(b.stage.Config); err != nil {
		t.Fatal(err)
	}
	return b
}

// scaled is the schedule with milliseconds in place of minutes.
func scaled() webhooks.Config {
	return webhooks.Config{AllowHTTP: true, Lease: 5 * time.Second, SweepEvery: 20 * time.Millisecond, RestMax: 50 * time.Millisecond,
		Schedule: []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond,
			time.Second, 2 * time.Second, 2 * time.Second}}
}

// send runs a sender until stop is called or the test ends.
func (b *bundle) send(t *testing.T, cfg webhooks.Config) (stop func()) {
	t.Helper()
	cfg.Log = slog.New(slog.NewTextHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := webhooks.NewSender(cfg, b.store, b.client)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func (b *bundle) hook(t *testing.T, tenant, url string) (jobs.Webhook, jobs.Secret) {
	t.Helper()
	w, secret, err := b.store.CreateWebhook(t.Context(), tenant, jobs.WebhookChange{Name: "n", URL: url, EventTypes: jobs.WebhookEventTypes()})
	if err != nil {
		t.Fatal(err)
	}
	return w, secret
}

// job makes a job of a tenant.
func (b *bundle) job(t *testing.T, tenant string) jobs.Job {
	t.Helper()
	job, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: tenant, Spec: jobs.Spec{Pipeline: "terrain", Model: "terrain", Task: "t2v",
		Prompt: "a canary prompt", Width: 64, Height: 64, FPS: 16, Frames: 5, Seconds: "0.3"}})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// work completes jobs until stop is called.
func (b *bundle) work(t *testing.T) (stop func()) {
	t.Helper()
	consumer, err := b.store.NewConsumer(jobs.ConsumerConfig{Pipeline: "terrain", Owner: "w", DrainTimeout: -1}, func(ctx context.Context, claim *jobs.Claim) {
		if err := claim.Complete(ctx, jobs.Result{VideoKey: "v.mp4", SHA256: strings.Repeat("ab", 32)}); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- consumer.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// cancelled makes a job and ends it.
func (b *bundle) cancelled(t *testing.T, tenant string) string {
	t.Helper()
	id := b.job(t, tenant).ID
	if _, err := b.store.Cancel(t.Context(), tenant, id); err != nil {
		t.Fatal(err)
	}
	return id
}

func (b *bundle) deliveries(t *testing.T, tenant, id string) []jobs.Delivery {
	t.Helper()
	got, err := b.store.ListDeliveries(t.Context(), tenant, id, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const patience = 30 * time.Second

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !ok() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatal("never: " + what)
		}
	}
}
