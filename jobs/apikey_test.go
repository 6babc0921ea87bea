package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"telefuser/jobs"
)

func TestKeys(t *testing.T) {
	each(t, jobs.Config{KeyCacheTTL: 100 * time.Millisecond}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		secret, info, err := b.store.CreateKey(ctx, "alice", "laptop")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(secret, "tf-") || len(secret) < 3+22 || strings.Contains(info.ID, secret[3:]) || info.Hint != secret[:7] {
			t.Errorf("secret %q, info %+v", secret, info)
		}
		for _, k := range b.keys(t) {
			dump := k + b.rdb.Dump(ctx, k).Val()
			if strings.Contains(dump, secret[7:]) {
				t.Errorf("key %s holds the secret", k)
			}
		}
		tenant, id, err := b.store.Authenticate(ctx, secret)
		if err != nil || tenant != "alice" || id != info.ID {
			t.Errorf("authenticated as %q, %q, %v", tenant, id, err)
		}
		for _, wrong := range []string{"", "tf-", secret + "x", secret[:len(secret)-1], strings.ToUpper(secret), "sk-" + secret[3:], strings.Repeat("tf-", 10000)} {
			if _, _, err := b.store.Authenticate(ctx, wrong); !errors.Is(err, jobs.ErrUnauthorized) {
				t.Errorf("%.20q: %v", wrong, err)
			}
		}
		_, own, err := b.store.CreateKey(ctx, "", "")
		if err != nil || own.Tenant == "" || own.Tenant == "alice" {
			t.Errorf("a key of its own tenant: %+v, %v", own, err)
		}
		all, err := b.store.ListKeys(ctx, "")
		if err != nil || len(all) != 2 {
			t.Errorf("listed %+v, %v", all, err)
		}
		hers, err := b.store.ListKeys(ctx, "alice")
		if err != nil || len(hers) != 1 || !equalJSON(t, hers[0], info) {
			t.Errorf("listed %+v, %v, want %+v", hers, err, info)
		}
	})
}

// A revocation made elsewhere works once the cache's time is over, and one made here at once.
func TestRevoke(t *testing.T) {
	b := onRedis(t, jobs.Config{KeyCacheTTL: 100 * time.Millisecond})
	other := setup(t, b.addr, b.cfg)
	ctx := t.Context()
	secret, info, err := b.store.CreateKey(ctx, "alice", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*jobs.Store{b.store, other.store} {
		if _, _, err := s.Authenticate(ctx, secret); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.store.RevokeKey(ctx, info.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.store.Authenticate(ctx, secret); !errors.Is(err, jobs.ErrUnauthorized) {
		t.Errorf("here: %v", err)
	}
	start := time.Now()
	eventually(t, func() bool {
		_, _, err := other.store.Authenticate(ctx, secret)
		return errors.Is(err, jobs.ErrUnauthorized)
	})
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("elsewhere after %v", took)
	}
	if err := b.store.RevokeKey(ctx, info.ID); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("revoked twice: %v", err)
	}
}

// Without Redis nobody is called a stranger.
func TestAuthenticateWithoutRedis(t *testing.T) {
	b := setupMini(t, jobs.Config{})
	b.mini.SetError("LOADING")
	if _, _, err := b.store.Authenticate(t.Context(), "tf-abc"); !errors.Is(err, jobs.ErrUnavailable) || errors.Is(err, jobs.ErrUnauthorized) {
		t.Error(err)
	}
}

func TestRateLimit(t *testing.T) {
	each(t, jobs.Config{CreatesPerMinute: 60, CreatesBurst: 3}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		for i := range 3 {
			r, err := b.store.AllowCreate(ctx, "key_a")
			if err != nil || !r.Allowed || r.Limit != 60 || r.Remaining != 2-i || r.RetryAfter != 0 {
				t.Fatalf("create %d: %+v, %v", i, r, err)
			}
		}
		r, err := b.store.AllowCreate(ctx, "key_a")
		if err != nil || r.Allowed || r.RetryAfter <= 0 || r.RetryAfter > time.Second || r.ResetAfter <= r.RetryAfter {
			t.Errorf("the fourth: %+v, %v", r, err)
		}
		if r, err := b.store.AllowCreate(ctx, "key_b"); err != nil || !r.Allowed {
			t.Errorf("another key: %+v, %v", r, err)
		}
	})
	b := onRedis(t, jobs.Config{})
	for range 1000 {
		if r, err := b.store.AllowCreate(t.Context(), "key_a"); err != nil || !r.Allowed {
			t.Fatalf("without a limit: %+v, %v", r, err)
		}
	}
}
