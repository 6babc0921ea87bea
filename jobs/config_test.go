package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"telefuser/jobs"
)

func TestConfigValidate(t *testing.T) {
	if err := (jobs.Config{}).Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for field, cfg := range map[string]jobs.Config{
		"Prefix":           {Prefix: "a:b"},
		"LeaseTTL":         {LeaseTTL: time.Millisecond, RenewEvery: time.Microsecond},
		"RenewEvery":       {LeaseTTL: 10 * time.Second, RenewEvery: 5 * time.Second},
		"ProgressEvery":    {ProgressEvery: time.Minute},
		"ReapEvery":        {ReapEvery: time.Minute},
		"MemoryMaxRatio":   {MemoryMaxRatio: 2},
		"KeyCacheTTL":      {KeyCacheTTL: time.Minute},
		"RetentionTTL":     {RetentionTTL: -1},
		"QueuedMax":        {QueuedMax: -1},
		"CreatesPerMinute": {CreatesPerMinute: -1},
	} {
		if err := cfg.Validate(); !errors.Is(err, jobs.ErrInvalid) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestConnect(t *testing.T) {
	for name, cfg := range map[string]jobs.RedisConfig{
		"nothing":   {},
		"bad URL":   {URL: "http://user:hunter2@x"},
		"no master": {Sentinels: []string{"127.0.0.1:1"}},
	} {
		_, err := jobs.Connect(t.Context(), cfg)
		if !errors.Is(err, jobs.ErrInvalid) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	rdb, err := jobs.Connect(ctx, jobs.RedisConfig{Addr: "127.0.0.1:1"})
	if !errors.Is(err, jobs.ErrUnavailable) || rdb == nil {
		t.Fatalf("nobody listens: %v, %v", rdb, err)
	}
	if err := rdb.Close(); err != nil {
		t.Error(err)
	}
	rdb, err = jobs.Connect(ctx, jobs.RedisConfig{URL: "redis://" + shared.Addr + "/0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := rdb.Close(); err != nil {
		t.Error(err)
	}
}

// TestACallToAFrozenRedisEnds long before the time-out of a reply: nobody answers on this port.
func TestACallToAFrozenRedisEnds(t *testing.T) {
	var listen net.ListenConfig
	hole, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	rdb, err := jobs.Connect(t.Context(), jobs.RedisConfig{Addr: hole.Addr().String(), ReplyTimeout: time.Minute})
	if !errors.Is(err, jobs.ErrUnavailable) {
		t.Fatalf("connect: %v", err)
	}
	defer rdb.Close()
	store, err := jobs.New(jobs.Config{}, rdb, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var calls sync.WaitGroup
	for name, call := range map[string]func(context.Context) error{
		"get": func(ctx context.Context) error { _, err := store.Get(ctx, "alice", jobs.NewID(time.Now())); return err },
		"delete": func(ctx context.Context) error {
			_, err := store.Delete(ctx, "alice", jobs.NewID(time.Now()))
			return err
		},
		"ping": store.Ping,
	} {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := call(ctx); !errors.Is(err, jobs.ErrUnavailable) || ctx.Err() != nil {
				t.Errorf("%s: %v, %v", name, err, ctx.Err())
			}
		})
	}
	calls.Wait()
	// One request makes several calls, and waits for all of them no longer than for one.
	ctx, began := jobs.WithPatience(t.Context()), time.Now()
	for range 5 {
		if _, err := store.Get(ctx, "alice", jobs.NewID(time.Now())); !errors.Is(err, jobs.ErrUnavailable) {
			t.Errorf("get: %v", err)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("five calls of one request took %s", took)
	}
}
