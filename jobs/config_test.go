package jobs_test

import (
	"context"
	"errors"
	"strings"
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
