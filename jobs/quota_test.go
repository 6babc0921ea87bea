package jobs_test

import (
	"errors"
	"testing"
	"time"

	"telefuser/jobs"
)

// key makes an API key with limits of its own.
func (b *bundle) key(t testing.TB, tenant string, limits map[string]int64) string {
	t.Helper()
	_, info, err := b.store.CreateKey(t.Context(), tenant, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.store.SetQuota(t.Context(), info.ID, limits); err != nil {
		t.Fatal(err)
	}
	return info.ID
}

// ask creates under a key and answers the limit that refused it, "" for none.
func (b *bundle) ask(t testing.TB, tenant, key string) string {
	t.Helper()
	job, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: tenant, KeyID: key, Spec: spec("x")})
	var quota *jobs.QuotaError
	switch {
	case err == nil:
		if job.ID == "" {
			t.Error("a job without an id")
		}
		return ""
	case errors.As(err, &quota) && errors.Is(err, jobs.ErrQuota):
		return quota.Limit
	}
	t.Fatal(err)
	return ""
}

// A key's own limits hold in place of the configuration's, can be changed and taken away, and are listed.
func TestSetQuota(t *testing.T) {
	each(t, jobs.Config{CreatesPerMinute: 7, KeyCacheTTL: time.Millisecond, Quota: jobs.Quota{Queued: 3}}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		key := b.key(t, "alice", map[string]int64{"queued": 0, "sessions": 2})
		quota, err := b.store.Quota(ctx, key)
		if err != nil || quota != (jobs.Quota{CreatesPerMinute: 7, Sessions: 2}) {
			t.Errorf("holds %+v, %v", quota, err)
		}
		list, err := b.store.ListKeys(ctx, "alice")
		if err != nil || len(list) != 1 || len(list[0].Limits) != 2 || list[0].Limits["sessions"] != 2 {
			t.Errorf("listed %+v, %v", list, err)
		}
		if err := b.store.SetQuota(ctx, key, map[string]int64{"queued": jobs.QuotaDefault, "creates-per-minute": 9}); err != nil {
			t.Fatal(err)
		}
		if quota, err := b.store.Quota(ctx, key); err != nil || quota != (jobs.Quota{CreatesPerMinute: 9, Queued: 3, Sessions: 2}) {
			t.Errorf("then holds %+v, %v", quota, err)
		}
		if quota, err := b.store.Quota(ctx, "local"); err != nil || quota != (jobs.Quota{CreatesPerMinute: 7, Queued: 3}) {
			t.Errorf("without a key holds %+v, %v", quota, err)
		}
		for name, limit := range map[string]int64{"other": 1, "queued": -2, "running": 1 << 60} {
			if err := b.store.SetQuota(ctx, key, map[string]int64{name: limit}); !errors.Is(err, jobs.ErrInvalid) {
				t.Errorf("%s=%d: %v", name, limit, err)
			}
		}
		if err := b.store.SetQuota(ctx, "key_x", map[string]int64{"queued": 1}); !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("a key that there is not: %v", err)
		}
	})
}

// Authenticating brings the limits along, so that a create asks no more of Redis.
func TestQuotaIsCachedWithTheKey(t *testing.T) {
	b := onRedis(t, jobs.Config{KeyCacheTTL: 5 * time.Second})
	secret, info, err := b.store.CreateKey(t.Context(), "alice", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.store.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	other := setup(t, b.addr, b.cfg)
	if err := other.store.SetQuota(t.Context(), info.ID, map[string]int64{"queued": 1}); err != nil {
		t.Fatal(err)
	}
	if quota, err := b.store.Quota(t.Context(), info.ID); err != nil || quota.Queued != 0 {
		t.Errorf("asked Redis again: %+v, %v", quota, err)
	}
	if err := b.store.SetQuota(t.Context(), info.ID, map[string]int64{"queued": 2}); err != nil {
		t.Fatal(err)
	}
	if quota, err := b.store.Quota(t.Context(), info.ID); err != nil || quota.Queued != 2 {
		t.Errorf("a change of this process's own is not seen at once: %+v, %v", quota, err)
	}
}

func TestQuotaOfQueuedJobs(t *testing.T) {
	each(t, jobs.Config{Quota: jobs.Quota{Queued: 2}}, func(t *testing.T, b *bundle) {
		key := b.key(t, "bob", map[string]int64{"queued": 3})
		for want, ask := range map[int]func() string{2: func() string { return b.ask(t, "alice", "local") }, 3: func() string { return b.ask(t, "bob", key) }} {
			for i := range want {
				if got := ask(); got != "" {
					t.Fatalf("job %d of %d: %s", i+1, want, got)
				}
			}
			if got := ask(); got != "queued" {
				t.Errorf("job %d: %q", want+1, got)
			}
		}
		b.next(t)
		b.next(t)
		if a, c := b.ask(t, "alice", "local"), b.ask(t, "bob", key); a != "" || c != "" {
			t.Errorf("after one of each began: %q, %q", a, c)
		}
	})
}

// A tenant at its limit of runs waits, while others go on; when a run ends, the next begins.
func TestQuotaOfRunningJobs(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		key := b.key(t, "alice", map[string]int64{"running": 2})
		for range 4 {
			b.ask(t, "alice", key)
		}
		first, err := b.store.Next(t.Context(), pipeline)
		if err != nil {
			t.Fatal(err)
		}
		b.create(t, "bob")
		b.create(t, "bob")
		if got := b.turns(t); got != "alice bob bob" {
			t.Errorf("began %s", got)
		}
		if err := first.Complete(t.Context(), result("r")); err != nil {
			t.Fatal(err)
		}
		if got := b.turns(t); got != "alice" {
			t.Errorf("after a run had ended began %q", got)
		}
		if err := b.store.SetQuota(t.Context(), key, map[string]int64{"running": 0}); err != nil {
			t.Fatal(err)
		}
		if got := b.turns(t); got != "alice" {
			t.Errorf("after the limit had gone began %q", got)
		}
	})
}

func TestQueueAge(t *testing.T) {
	each(t, jobs.Config{QueueAgeMax: 200 * time.Millisecond}, func(t *testing.T, b *bundle) {
		b.ask(t, "alice", "local")
		if got := b.ask(t, "alice", "local"); got != "" {
			t.Errorf("at once: %s", got)
		}
		b.pass(t, 210*time.Millisecond)
		if got := b.ask(t, "alice", "local"); got != "queue-age" {
			t.Errorf("after the age: %q", got)
		}
		if got := b.ask(t, "bob", "local"); got != "" {
			t.Errorf("another tenant: %q", got)
		}
	})
}

// Work is counted by key, comes back with time, and is not charged for what was refused or replayed. A job of the test is 832 x 480 x 77/16 s: 2 megapixel-seconds.
func TestQuotaOfWork(t *testing.T) {
	each(t, jobs.Config{QueuedMax: 3}, func(t *testing.T, b *bundle) {
		key := b.key(t, "alice", map[string]int64{"megapixel-seconds-per-hour": 5})
		req := jobs.CreateRequest{Tenant: "alice", KeyID: key, Spec: spec("x"), IdempotencyKey: "k", Fingerprint: digest("x")}
		for i := range 3 {
			if _, replayed, err := b.store.Create(t.Context(), req); err != nil || replayed != (i > 0) {
				t.Fatal(replayed, err)
			}
		}
		if got := b.ask(t, "alice", key); got != "" {
			t.Fatal(got)
		}
		_, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "alice", KeyID: key, Spec: spec("x")})
		var quota *jobs.QuotaError
		if !errors.As(err, &quota) || quota.Limit != "megapixel-seconds-per-hour" || quota.RetryAfter < 11*time.Minute || quota.RetryAfter > 12*time.Minute {
			t.Errorf("above the hour's work: %+v, %v; a fifth of an hour is missing", quota, err)
		}
		if got := b.ask(t, "alice", b.key(t, "alice", map[string]int64{"megapixel-seconds-per-hour": 5})); got != "" {
			t.Errorf("another key: %q", got)
		}
		large := spec("x")
		large.Frames *= 4
		_, _, err = b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "bob", KeyID: key, Spec: large})
		if !errors.As(err, &quota) && !errors.Is(err, jobs.ErrQueueFull) {
			t.Errorf("a job above every hour: %v", err)
		}
		if b.mini == nil {
			return
		}
		b.turns(t)
		b.pass(t, 12*time.Minute)
		if got := b.ask(t, "alice", key); got != "" {
			t.Errorf("a fifth of an hour later: %q", got)
		}
		_, _, err = b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "bob", KeyID: key, Spec: large})
		if !errors.As(err, &quota) || quota.RetryAfter >= 0 {
			t.Errorf("a job above every hour: %+v, %v", quota, err)
		}
	})
}

// Bytes count from the moment that they have a record until that is gone, and belong to the tenant.
func TestQuotaOfStoredBytes(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		key := b.key(t, "alice", map[string]int64{"stored-bytes": 1300})
		stored := func(want int64) {
			t.Helper()
			if n, err := b.store.Stored(ctx, "alice"); err != nil || n != want {
				t.Errorf("%d bytes, %v; want %d", n, err, want)
			}
		}
		b.ask(t, "alice", key)
		claim, err := b.store.Next(ctx, pipeline)
		if err != nil {
			t.Fatal(err)
		}
		if err := claim.Complete(ctx, result("r")); err != nil {
			t.Fatal(err)
		}
		if err := claim.Again().Complete(ctx, result("r")); err != nil {
			t.Fatal(err)
		}
		stored(1234)
		if err := b.store.CheckStored(ctx, "alice", key); err != nil {
			t.Error(err)
		}
		file := jobs.FileRecord{ID: jobs.NewFileID(time.Now()), Tenant: "alice", SizeBytes: 100, Key: "files/a"}
		if err := b.store.Stage(ctx, file.Key); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := b.store.PutFile(ctx, file); err != nil {
				t.Fatal(err)
			}
		}
		stored(1334)
		if err := b.store.CheckStored(ctx, "alice", key); !errors.Is(err, jobs.ErrQuota) {
			t.Errorf("a full store takes files: %v", err)
		}
		if got := b.ask(t, "alice", key); got != "stored-bytes" {
			t.Errorf("a full store takes videos: %q", got)
		}
		if got := b.ask(t, "bob", "local"); got != "" {
			t.Errorf("another tenant: %q", got)
		}
		if _, err := b.store.Delete(ctx, "alice", claim.ID); err != nil {
			t.Fatal(err)
		}
		stored(100)
		if _, err := b.store.DeleteFile(ctx, "alice", file.ID); err != nil {
			t.Fatal(err)
		}
		stored(0)
		if got := b.ask(t, "alice", key); got != "" {
			t.Errorf("an empty store: %q", got)
		}
	})
}
