package jobs_test

import (
	"bufio"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"telefuser/internal/devstack"
	"telefuser/jobs"
)

func TestPing(t *testing.T) {
	b := setupMini(t, jobs.Config{})
	ctx := t.Context()
	for range 2 {
		if err := b.store.Ping(ctx); err != nil {
			t.Fatal(err)
		}
	}
	b.mini.SetError("LOADING")
	if err := b.store.Ping(ctx); !errors.Is(err, jobs.ErrUnavailable) {
		t.Errorf("without Redis: %v", err)
	}
	b.mini.SetError("")
	b.mini.FlushAll()
	for range 2 {
		if err := b.store.Ping(ctx); !errors.Is(err, jobs.ErrDataLost) {
			t.Errorf("after a flush: %v", err)
		}
	}
	const changes = "telefuser_jobs_record_sets_changed_total"
	if n := b.scrape(t)[changes]; n != "1" {
		t.Errorf("after a flush %s changes are counted", n)
	}
	other := setup(t, b.addr, b.cfg)
	if err := other.store.Ping(ctx); err != nil {
		t.Errorf("a new process: %v", err)
	}
	if err := b.store.Ping(ctx); err != nil || !strings.Contains(b.logs.String(), "another set of records") {
		t.Errorf("after a new process began anew: %v", err)
	}
	if n := b.scrape(t)[changes]; n != "1" {
		t.Errorf("%s changes are counted in the end, want the flush alone", n)
	}
}

func TestCheckPolicy(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	if warnings, err := b.store.CheckPolicy(t.Context()); err != nil || len(warnings) != 0 {
		t.Errorf("a good server: %v, %v", warnings, err)
	}
	b.rdb.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru")
	defer b.rdb.ConfigSet(t.Context(), "maxmemory-policy", "noeviction")
	if warnings, err := b.store.CheckPolicy(t.Context()); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "noeviction") {
		t.Errorf("an evicting server: %v, %v", warnings, err)
	}
	if _, err := setupMini(t, jobs.Config{}).store.CheckPolicy(t.Context()); err != nil {
		t.Errorf("a server that shows nothing: %v", err)
	}
}

// TestEvictingRedisFailsPing holds that only a Redis that can evict does: with a policy and a limit.
func TestEvictingRedisFailsPing(t *testing.T) {
	server, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{})
	if err != nil {
		t.Skipf("needs a redis-server: %v", err)
	}
	t.Cleanup(server.Stop)
	b := setup(t, server.Addr, jobs.Config{})
	set := func(name, value string) {
		t.Helper()
		if err := b.rdb.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("maxmemory-policy", "volatile-lru")
	if err := b.store.Ping(t.Context()); err != nil {
		t.Errorf("a policy without a limit: %v", err)
	}
	set("maxmemory", "1gb")
	eventually(t, func() bool { return errors.Is(b.store.Ping(t.Context()), jobs.ErrEvicts) })
	set("maxmemory-policy", "noeviction")
	eventually(t, func() bool { return b.store.Ping(t.Context()) == nil })
}

func TestWorkers(t *testing.T) {
	each(t, jobs.Config{WorkerTTL: time.Second}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		w := jobs.WorkerInfo{Owner: "host-1", Pipeline: pipeline, Slots: 2, Busy: 1, Version: "v1", Devices: []string{"cpu"}}
		if err := b.store.Heartbeat(ctx, w); err != nil {
			t.Fatal(err)
		}
		up := func() int {
			t.Helper()
			list, err := b.store.Workers(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 1 && (!equalJSON(t, list[0], w) || b.clock(t).Sub(list[0].SeenAt) > time.Minute || list[0].SeenAt.After(b.clock(t))) {
				t.Errorf("listed %+v", list[0])
			}
			return len(list)
		}
		if n := up(); n != 1 {
			t.Errorf("%d workers after a heartbeat", n)
		}
		b.pass(t, 1010*time.Millisecond)
		if n := up(); n != 0 {
			t.Errorf("%d workers after silence", n)
		}
		if err := b.store.Heartbeat(ctx, w); err != nil {
			t.Fatal(err)
		}
		if err := b.store.Goodbye(ctx, w.Owner); err != nil {
			t.Fatal(err)
		}
		if n := up(); n != 0 {
			t.Errorf("%d workers after goodbye", n)
		}
	})
}

// scrape reads the metrics as a scraper would.
func (b *bundle) scrape(t *testing.T) map[string]string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(b.store.Collector()); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	out := map[string]string{}
	for scan := bufio.NewScanner(answer.Body); scan.Scan(); {
		if name, value, ok := strings.Cut(scan.Text(), "} "); ok {
			out[name+"}"] = value
		} else if name, value, ok := strings.Cut(scan.Text(), " "); ok && name != "#" {
			out[name] = value
		}
	}
	return out
}

func TestMetrics(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	first := b.create(t, "alice")
	b.create(t, "alice")
	stale := b.claim(t, first.ID, 0)
	b.expireLease(t, first.ID)
	b.reap(t)
	if err := stale.Complete(t.Context(), result("r")); !errors.Is(err, jobs.ErrStale) {
		t.Fatal(err)
	}
	got := b.scrape(t)
	for name, want := range map[string]string{
		`telefuser_jobs_redis_up`:                                                       "1",
		`telefuser_jobs_jobs{pipeline="terrain",state="queued"}`:                        "2",
		`telefuser_jobs_jobs{pipeline="terrain",state="in_progress"}`:                   "0",
		`telefuser_jobs_created_total{pipeline="terrain"}`:                              "2",
		`telefuser_jobs_reaped_total{pipeline="terrain",state="queued"}`:                "1",
		`telefuser_jobs_stale_writes_total{op="complete"}`:                              "1",
		`telefuser_jobs_queue_messages{list="pending",pipeline="terrain"}`:              "3",
		`telefuser_jobs_queue_messages{list="active_without_lease",pipeline="terrain"}`: "0",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	totals, err := b.store.Totals(t.Context())
	if err != nil || totals.Created != 2 {
		t.Errorf("totals %+v, %v", totals, err)
	}
	down := setupMini(t, jobs.Config{})
	down.mini.SetError("LOADING")
	if got := down.scrape(t); got["telefuser_jobs_redis_up"] != "0" {
		t.Errorf("without Redis: %v", got["telefuser_jobs_redis_up"])
	}
}
