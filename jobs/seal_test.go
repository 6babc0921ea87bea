package jobs_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"telefuser/jobs"
)

// sealKey is a key of the same byte all over.
func sealKey(b byte) []byte { return bytes.Repeat([]byte{b}, jobs.SecretKeyBytes) }

// with is another process's store on the same records, with other keys.
func (b *bundle) with(t *testing.T, keys ...[]byte) *bundle {
	t.Helper()
	return setup(t, b.addr, jobs.Config{Prefix: b.cfg.Prefix, SecretKeys: keys})
}

// reveal reads the secrets that sign.
func (b *bundle) reveal(t *testing.T, id string) []string {
	t.Helper()
	secrets, err := b.store.WebhookSecrets(t.Context(), "alice", id)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range secrets {
		out = append(out, s.Reveal())
	}
	return out
}

// keptSecrets are the texts that Redis has of a webhook's secrets.
func (b *bundle) keptSecrets(t *testing.T, id string) map[string]string {
	t.Helper()
	f, err := b.rdb.HGetAll(t.Context(), b.cfg.Prefix+":hs:"+id).Result()
	if err != nil || len(f) == 0 {
		t.Fatal(f, err)
	}
	return f
}

// sealed holds that no part of a secret can be read in Redis.
func (b *bundle) sealed(t *testing.T, id string, secrets ...string) {
	t.Helper()
	for field, text := range b.keptSecrets(t, id) {
		for _, secret := range secrets {
			if strings.Contains(text, strings.TrimPrefix(secret, "whsec_")[:16]) || strings.Contains(text, "whsec_") {
				t.Errorf("field %s of %s lies open", field, id)
			}
		}
	}
}

func TestSecretsAreSealedInRedis(t *testing.T) {
	each(t, jobs.Config{SecretKeys: [][]byte{sealKey(1)}}, func(t *testing.T, b *bundle) {
		w, first, err := b.store.CreateWebhook(t.Context(), "alice", jobs.WebhookChange{Name: "n", URL: "https://example.com", EventTypes: jobs.WebhookEventTypes()})
		if err != nil {
			t.Fatal(err)
		}
		_, second, err := b.store.RotateWebhookSecret(t.Context(), "alice", w.ID, true)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{second.Reveal(), first.Reveal()}
		b.sealed(t, w.ID, want...)
		if got := b.reveal(t, w.ID); !slices.Equal(got, want) {
			t.Errorf("the secrets are others")
		}
		b.failOne(t)
		claims, err := b.store.TakeDeliveries(t.Context(), 10, time.Minute)
		if err != nil || len(claims) != 1 || len(claims[0].Secrets) != 2 || claims[0].Secrets[0] != second || claims[0].Secrets[1] != first {
			t.Errorf("%d claims, %v", len(claims), err)
		}
		if strings.Contains(b.logs.String(), first.Reveal()[6:20]) {
			t.Error("a secret is in the log")
		}
	})
}

// failOne ends a job of alice's.
func (b *bundle) failOne(t *testing.T) {
	t.Helper()
	if _, err := b.store.Cancel(t.Context(), "alice", b.create(t, "alice").ID); err != nil {
		t.Fatal(err)
	}
}

// TestSealingKeysRotate adds a key, seals all anew and takes the old one away, while each step's processes can work.
func TestSealingKeysRotate(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, plain *bundle) {
		ctx := t.Context()
		open := plain.hook(t, "alice")
		older := plain.with(t, sealKey(1))
		w := older.hook(t, "alice")
		want := map[string][]string{w.ID: older.reveal(t, w.ID), open.ID: older.reveal(t, open.ID)}
		both := plain.with(t, sealKey(2), sealKey(1))
		if seals, err := both.store.WebhookSeals(ctx); err != nil || seals != (jobs.Seals{Older: 1, Plain: 1}) {
			t.Errorf("before: %+v, %v", seals, err)
		}
		for i, n := range []int{2, 0} {
			if resealed, foreign, err := both.store.ResealWebhooks(ctx); err != nil || resealed != n || foreign != 0 {
				t.Errorf("pass %d: %d, %d, %v", i, resealed, foreign, err)
			}
		}
		newer := plain.with(t, sealKey(2))
		for id, secrets := range want {
			newer.sealed(t, id, secrets...)
			if got := newer.reveal(t, id); !slices.Equal(got, secrets) {
				t.Errorf("%s: another secret than before", id)
			}
			for name, b := range map[string]*bundle{"the old key": older, "no key": plain} {
				if _, err := b.store.WebhookSecrets(ctx, "alice", id); !errors.Is(err, jobs.ErrSealed) {
					t.Errorf("%s with %s: %v", id, name, err)
				}
			}
		}
		if seals, err := older.store.WebhookSeals(ctx); err != nil || seals != (jobs.Seals{Foreign: 2}) {
			t.Errorf("with the old key alone: %+v, %v", seals, err)
		}
		if resealed, foreign, err := older.store.ResealWebhooks(ctx); err != nil || resealed != 0 || foreign != 2 {
			t.Errorf("with the old key alone: %d, %d, %v", resealed, foreign, err)
		}
	})
}

// TestAPlainSecretIsSealedWhenItIsUsed: a record of before there was a key needs nobody to look after it.
func TestAPlainSecretIsSealedWhenItIsUsed(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, plain *bundle) {
		w := plain.hook(t, "alice")
		want := plain.reveal(t, w.ID)
		plain.failOne(t)
		b := plain.with(t, sealKey(1))
		claims, err := b.store.TakeDeliveries(t.Context(), 10, time.Minute)
		if err != nil || len(claims) != 1 || claims[0].Secrets[0].Reveal() != want[0] {
			t.Fatalf("%d claims, %v", len(claims), err)
		}
		b.sealed(t, w.ID, want...)
		if got := b.reveal(t, w.ID); !slices.Equal(got, want) {
			t.Error("another secret than before")
		}
	})
}

// TestASealedSecretBelongsToItsWebhook moves, cuts and changes what Redis keeps; and what a process cannot open it does not sign with.
func TestASealedSecretBelongsToItsWebhook(t *testing.T) {
	b := setupMini(t, jobs.Config{SecretKeys: [][]byte{sealKey(1)}})
	ctx := t.Context()
	mine, theirs := b.hook(t, "alice"), b.hook(t, "alice", jobs.EventBatchFailed)
	good, foreign := b.keptSecrets(t, mine.ID)["sec"], b.keptSecrets(t, theirs.ID)["sec"]
	last := byte('A')
	if good[len(good)-1] == last {
		last = 'Q'
	}
	for name, text := range map[string]string{"another webhook's": foreign, "one letter": good[:len(good)-1] + string(last), "cut": good[:20], "no body": "s1." + jobs.SecretKeyID(sealKey(1)) + ".",
		"no key": "s1..AAAA", "not base64": good + "*"} {
		if err := b.rdb.HSet(ctx, b.cfg.Prefix+":hs:"+mine.ID, "sec", text).Err(); err != nil {
			t.Fatal(err)
		}
		if secrets, err := b.store.WebhookSecrets(ctx, "alice", mine.ID); !errors.Is(err, jobs.ErrSealed) || len(secrets) != 0 {
			t.Errorf("%s: %d secrets, %v", name, len(secrets), err)
		}
	}
	b.failOne(t)
	if claims, err := b.store.TakeDeliveries(ctx, 10, time.Minute); err != nil || len(claims) != 1 || len(claims[0].Secrets) != 0 {
		t.Errorf("%+v, %v", claims, err)
	}
	if _, _, err := b.store.RotateWebhookSecret(ctx, "alice", mine.ID, true); err != nil { // the way out
		t.Fatal(err)
	}
	if got := b.reveal(t, mine.ID); len(got) != 1 {
		t.Errorf("%d secrets after a rotation, want the new one alone", len(got))
	}
}

func TestSealingKeysAreChecked(t *testing.T) {
	for _, keys := range [][][]byte{{nil}, {sealKey(1)[:16]}, {sealKey(1), append(sealKey(2), 0)}} {
		if err := (jobs.Config{SecretKeys: keys}).Validate(); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("%v: %v", keys, err)
		}
	}
}
