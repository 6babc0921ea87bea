package jobs_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"telefuser/jobs"
)

// hook makes a webhook for all events.
func (b *bundle) hook(t testing.TB, tenant string, kinds ...string) jobs.Webhook {
	t.Helper()
	if len(kinds) == 0 {
		kinds = jobs.WebhookEventTypes()
	}
	w, _, err := b.store.CreateWebhook(t.Context(), tenant, jobs.WebhookChange{Name: "n", URL: "https://example.com/hook", EventTypes: kinds})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWebhooksAreKeptPerTenant(t *testing.T) {
	each(t, jobs.Config{WebhooksPerTenantMax: 3}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		var made []jobs.Webhook
		for i := range 3 {
			made = append(made, b.hook(t, "alice", jobs.EventVideoFailed, jobs.EventVideoCompleted, jobs.EventVideoFailed))
			if got := made[i].EventTypes; !slices.Equal(got, []string{jobs.EventVideoCompleted, jobs.EventVideoFailed}) {
				t.Errorf("event types %v", got)
			}
		}
		_, _, err := b.store.CreateWebhook(ctx, "alice", jobs.WebhookChange{Name: "n", URL: "https://example.com", EventTypes: jobs.WebhookEventTypes()})
		if !errors.Is(err, jobs.ErrTooMany) {
			t.Errorf("the fourth: %v", err)
		}
		b.hook(t, "bob")
		slices.SortFunc(made, func(x, y jobs.Webhook) int { return strings.Compare(x.ID, y.ID) })
		page, more, err := b.store.ListWebhooks(ctx, "alice", jobs.ListQuery{Limit: 2})
		if err != nil || !more || len(page) != 2 || page[0].ID != made[0].ID || page[1].ID != made[1].ID {
			t.Errorf("first page: %v %v %v", page, more, err)
		}
		page, more, err = b.store.ListWebhooks(ctx, "alice", jobs.ListQuery{Limit: 2, After: made[1].ID})
		if err != nil || more || len(page) != 1 || page[0].ID != made[2].ID {
			t.Errorf("last page: %v %v %v", page, more, err)
		}
		page, more, err = b.store.ListWebhooks(ctx, "alice", jobs.ListQuery{Limit: 2, Descending: true, After: made[2].ID})
		if err != nil || more || len(page) != 2 || page[0].ID != made[1].ID {
			t.Errorf("descending: %v %v %v", page, more, err)
		}
		for what, try := range map[string]func() error{
			"get": func() error { _, err := b.store.GetWebhook(ctx, "bob", made[0].ID); return err },
			"update": func() error {
				_, err := b.store.UpdateWebhook(ctx, "bob", made[0].ID, jobs.WebhookChange{Name: "x"})
				return err
			},
			"rotate":  func() error { _, _, err := b.store.RotateWebhookSecret(ctx, "bob", made[0].ID, true); return err },
			"secrets": func() error { _, err := b.store.WebhookSecrets(ctx, "bob", made[0].ID); return err },
			"list":    func() error { _, err := b.store.ListDeliveries(ctx, "bob", made[0].ID, 1); return err },
			"replay":  func() error { return b.store.ReplayDelivery(ctx, "bob", made[0].ID, "evt_1") },
			"delete":  func() error { return b.store.DeleteWebhook(ctx, "bob", made[0].ID) },
		} {
			if err := try(); !errors.Is(err, jobs.ErrNotFound) {
				t.Errorf("%s by another tenant: %v", what, err)
			}
		}
		if w, err := b.store.GetWebhook(ctx, "alice", made[0].ID); err != nil || w.Name != "n" {
			t.Errorf("after strangers tried: %+v, %v", w, err)
		}
	})
}

func TestWebhookFieldsAreChecked(t *testing.T) {
	b := setupMini(t, jobs.Config{})
	good := jobs.WebhookChange{Name: "n", URL: "https://example.com", EventTypes: []string{jobs.EventVideoFailed}}
	for name, change := range map[string]func(*jobs.WebhookChange){
		"no name":      func(c *jobs.WebhookChange) { c.Name = "" },
		"no url":       func(c *jobs.WebhookChange) { c.URL = "" },
		"no events":    func(c *jobs.WebhookChange) { c.EventTypes = nil },
		"other events": func(c *jobs.WebhookChange) { c.EventTypes = []string{"video.created"} },
		"comma":        func(c *jobs.WebhookChange) { c.EventTypes = []string{"video.failed,video.completed"} },
		"long name":    func(c *jobs.WebhookChange) { c.Name = strings.Repeat("猫", 257) },
		"long url":     func(c *jobs.WebhookChange) { c.URL = "https://example.com/" + strings.Repeat("a", 2048) },
		"line in name": func(c *jobs.WebhookChange) { c.Name = "a\nb" },
		"bad UTF-8":    func(c *jobs.WebhookChange) { c.Name = "\xff" },
	} {
		c := good
		change(&c)
		if _, _, err := b.store.CreateWebhook(t.Context(), "alice", c); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWebhookUpdates(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		w := b.hook(t, "alice")
		b.pass(t, 5*time.Millisecond)
		same, err := b.store.UpdateWebhook(t.Context(), "alice", w.ID, jobs.WebhookChange{Name: w.Name})
		if err != nil || !same.UpdatedAt.Equal(w.UpdatedAt) {
			t.Errorf("nothing changed: %+v, %v", same, err)
		}
		got, err := b.store.UpdateWebhook(t.Context(), "alice", w.ID, jobs.WebhookChange{Name: "new", EventTypes: []string{jobs.EventVideoFailed}})
		if err != nil || got.Name != "new" || got.URL != w.URL || !slices.Equal(got.EventTypes, []string{jobs.EventVideoFailed}) || !got.UpdatedAt.After(w.UpdatedAt) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestWebhookSecretsShowOnce looks for secrets everywhere but where they are asked for.
func TestWebhookSecretsShowOnce(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		w, first, err := b.store.CreateWebhook(ctx, "alice", jobs.WebhookChange{Name: "n", URL: "https://example.com", EventTypes: jobs.WebhookEventTypes()})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(first.Reveal(), "whsec_"))
		if err != nil || len(raw) != 32 {
			t.Errorf("the secret is no base64 of 32 bytes: %v", err)
		}
		b.pass(t, 2*time.Millisecond)
		rotated, second, err := b.store.RotateWebhookSecret(ctx, "alice", w.ID, true)
		if err != nil || second == first || rotated.Hint == w.Hint || !rotated.UpdatedAt.After(w.UpdatedAt) {
			t.Errorf("rotated: %+v, %v", rotated, err)
		}
		if got, err := b.store.WebhookSecrets(ctx, "alice", w.ID); err != nil || !slices.Equal(got, []jobs.Secret{second, first}) {
			t.Errorf("%d secrets sign, %v", len(got), err)
		}
		_, third, err := b.store.RotateWebhookSecret(ctx, "alice", w.ID, false)
		if got, err2 := b.store.WebhookSecrets(ctx, "alice", w.ID); err != nil || err2 != nil || !slices.Equal(got, []jobs.Secret{third}) {
			t.Errorf("%d secrets sign, %v %v", len(got), err, err2)
		}
		list, _, err := b.store.ListWebhooks(ctx, "alice", jobs.ListQuery{})
		if err != nil {
			t.Fatal(err)
		}
		shown := fmt.Sprintf("%v %+v %#v %s %q %v %+v", third, third, third, third, third, list, rotated)
		for _, secret := range []jobs.Secret{first, second, third} {
			if strings.Contains(shown, secret.Reveal()) || strings.Contains(shown, secret.Reveal()[6:30]) || strings.Contains(b.logs.String(), secret.Reveal()[6:30]) {
				t.Error("a secret is shown")
			}
		}
	})
}

// TestAnOldSecretEnds lets its day go by.
func TestAnOldSecretEnds(t *testing.T) {
	b := setupMini(t, jobs.Config{})
	w := b.hook(t, "alice")
	if _, _, err := b.store.RotateWebhookSecret(t.Context(), "alice", w.ID, true); err != nil {
		t.Fatal(err)
	}
	job := b.create(t, "alice")
	if _, err := b.store.Cancel(t.Context(), "alice", job.ID); err != nil {
		t.Fatal(err)
	}
	take := func() int {
		got, err := b.store.TakeDeliveries(t.Context(), 1, time.Second)
		if err != nil || len(got) != 1 {
			t.Fatalf("%v %v", got, err)
		}
		return len(got[0].Secrets)
	}
	if n := take(); n != 2 {
		t.Errorf("%d secrets sign on the same day", n)
	}
	b.pass(t, 24*time.Hour+time.Second)
	if n := take(); n != 1 {
		t.Errorf("%d secrets sign a day later", n)
	}
	if got, err := b.store.WebhookSecrets(t.Context(), "alice", w.ID); err != nil || len(got) != 1 {
		t.Errorf("%d secrets, %v", len(got), err)
	}
}
