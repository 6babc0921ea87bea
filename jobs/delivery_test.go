package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"telefuser/jobs"
)

// endings are the ways in which a job ends; each brings one into its end and says with which code.
var endings = map[string]func(t *testing.T, b *bundle) (id, code string){
	"completed": func(t *testing.T, b *bundle) (string, string) {
		job := b.create(t, "alice")
		claim := b.claim(t, job.ID, 0)
		err := copyOf(claim).Complete(t.Context(), result("a"))
		if again := claim.Complete(t.Context(), result("a")); err != nil || again != nil {
			t.Fatal(err, again)
		}
		return job.ID, ""
	},
	"failed": func(t *testing.T, b *bundle) (string, string) {
		job := b.create(t, "alice")
		claim := b.claim(t, job.ID, 0)
		err := copyOf(claim).Fail(t.Context(), jobs.Failure{Code: jobs.CodeInvalid, Message: "No."})
		if again := claim.Fail(t.Context(), jobs.Failure{Code: jobs.CodeInvalid, Message: "No."}); err != nil || again != nil {
			t.Fatal(err, again)
		}
		return job.ID, jobs.CodeInvalid
	},
	"cancelled while queued": func(t *testing.T, b *bundle) (string, string) {
		job := b.create(t, "alice")
		_, err := b.store.Cancel(t.Context(), "alice", job.ID)
		if _, again := b.store.Cancel(t.Context(), "alice", job.ID); err != nil || !errors.Is(again, jobs.ErrTerminal) {
			t.Fatal(err, again)
		}
		return job.ID, jobs.CodeCancelled
	},
	"cancelled while running": func(t *testing.T, b *bundle) (string, string) {
		job := b.create(t, "alice")
		claim := b.claim(t, job.ID, 0)
		_, err := b.store.Cancel(t.Context(), "alice", job.ID)
		if late := claim.Complete(t.Context(), result("a")); err != nil || !errors.Is(late, jobs.ErrStale) {
			t.Fatal(err, late)
		}
		return job.ID, jobs.CodeCancelled
	},
	"out of budget": func(t *testing.T, b *bundle) (string, string) {
		job := b.create(t, "alice")
		for attempt := range 2 {
			if _, err := b.claim(t, job.ID, attempt).Requeue(t.Context(), jobs.CauseOOM); err != nil {
				t.Fatal(err)
			}
		}
		return job.ID, jobs.CodeOutOfMemory
	},
	"its workers died": func(t *testing.T, b *bundle) (string, string) {
		job := b.create(t, "alice")
		for attempt := range 3 {
			b.claim(t, job.ID, attempt)
			b.expireLease(t, job.ID)
			b.reap(t)
		}
		return job.ID, jobs.CodeWorkerCrashed
	},
	"waited too long": func(t *testing.T, b *bundle) (string, string) {
		job := b.create(t, "alice")
		b.moveQueued(t, job.ID, 1)
		b.reap(t)
		return job.ID, jobs.CodeQueueTimeout
	},
}

// TestEveryEndIsAnnouncedOnce ends a job in every way and finds one delivery of it, written by the very call that ended it.
func TestEveryEndIsAnnouncedOnce(t *testing.T) {
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
				ctx := t.Context()
				w, twin := b.hook(t, "alice"), b.hook(t, "alice")
				deaf, other := b.hook(t, "alice", jobs.EventVideoCompleted), b.hook(t, "bob")
				id, code := end(t, b)
				if code == "" {
					deaf = other
				}
				got, err := b.store.ListDeliveries(ctx, "alice", w.ID, 10)
				if err != nil || len(got) != 1 {
					t.Fatalf("%+v, %v", got, err)
				}
				d := got[0]
				kind := jobs.EventVideoFailed
				if code == "" {
					kind = jobs.EventVideoCompleted
				}
				if d.Type != kind || d.SubjectID != id || d.State != jobs.DeliveryPending || d.EventID != "evt_"+strings.TrimPrefix(id, "video_") || d.CreatedAt.IsZero() {
					t.Errorf("%+v", d)
				}
				if (code == "") != (d.Failure == nil) || code != "" && (d.Failure.Code != code || d.Failure.Message == "") {
					t.Errorf("failure %+v, want %q", d.Failure, code)
				}
				same, err := b.store.ListDeliveries(ctx, "alice", twin.ID, 10)
				if err != nil || len(same) != 1 || same[0].EventID != d.EventID {
					t.Errorf("the other webhook has %+v, %v", same, err)
				}
				tenant := "alice"
				if deaf.ID == other.ID {
					tenant = "bob"
				}
				if none, err := b.store.ListDeliveries(ctx, tenant, deaf.ID, 10); err != nil || len(none) != 0 {
					t.Errorf("a webhook that does not want it has %+v, %v", none, err)
				}
			})
		})
	}
}

func TestADeletedJobIsNotAnnounced(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		w := b.hook(t, "alice")
		job := b.create(t, "alice")
		b.claim(t, job.ID, 0)
		if _, err := b.store.Delete(t.Context(), "alice", job.ID); err != nil {
			t.Fatal(err)
		}
		if got, err := b.store.ListDeliveries(t.Context(), "alice", w.ID, 10); err != nil || len(got) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// announced makes a webhook and n events for it.
func (b *bundle) announced(t *testing.T, tenant string, n int) jobs.Webhook {
	t.Helper()
	w := b.hook(t, tenant)
	for range n {
		b.announce(t, tenant)
	}
	return w
}

func (b *bundle) announce(t *testing.T, tenant string) {
	t.Helper()
	if _, err := b.store.Cancel(t.Context(), tenant, b.create(t, tenant).ID); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) take(t *testing.T, limit int, lease time.Duration) []jobs.DeliveryClaim {
	t.Helper()
	got, err := b.store.TakeDeliveries(t.Context(), limit, lease)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (b *bundle) settle(t *testing.T, c jobs.DeliveryClaim, r jobs.Settlement) {
	t.Helper()
	r.RestMax = 100 * time.Millisecond
	if err := b.store.SettleDelivery(t.Context(), c, r); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) deliveries(t *testing.T, tenant, id string) []jobs.Delivery {
	t.Helper()
	got, err := b.store.ListDeliveries(t.Context(), tenant, id, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestADeliveryHasOneSender takes it, lets the lease go by, and fences the sender that was too late.
func TestADeliveryHasOneSender(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		w := b.announced(t, "alice", 1)
		first := b.take(t, 10, 50*time.Millisecond)
		if len(first) != 1 || first[0].URL != w.URL || len(first[0].Secrets) != 1 || first[0].WebhookID != w.ID {
			t.Fatalf("%+v", first)
		}
		if again := b.take(t, 10, time.Second); len(again) != 0 {
			t.Fatalf("a second sender got %+v", again)
		}
		b.pass(t, 60*time.Millisecond)
		second := b.take(t, 10, 10*time.Second)
		if len(second) != 1 || second[0].EventID != first[0].EventID || second[0].Attempts != 0 {
			t.Fatalf("after the lease: %+v", second)
		}
		if err := b.store.SettleDelivery(t.Context(), first[0], jobs.Settlement{Failed: true}); !errors.Is(err, jobs.ErrStale) {
			t.Errorf("the late sender settled: %v", err)
		}
		b.settle(t, second[0], jobs.Settlement{Delivered: true, Status: 204})
		if err := b.store.SettleDelivery(t.Context(), second[0], jobs.Settlement{Delivered: true}); !errors.Is(err, jobs.ErrStale) {
			t.Errorf("settled twice: %v", err)
		}
		d := b.deliveries(t, "alice", w.ID)[0]
		if d.State != jobs.DeliveryDelivered || d.Attempts != 1 || d.Status != 204 || d.AttemptedAt.IsZero() || !d.DueAt.IsZero() {
			t.Errorf("%+v", d)
		}
		b.pass(t, 10*time.Second)
		if again := b.take(t, 10, time.Second); len(again) != 0 {
			t.Errorf("a delivered one was taken: %+v", again)
		}
	})
}

func TestADeliveryIsRetriedWhenItIsDue(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		w := b.announced(t, "alice", 1)
		for attempt := range 3 {
			got := b.take(t, 10, time.Second)
			if len(got) != 1 || got[0].Attempts != attempt {
				t.Fatalf("attempt %d: %+v", attempt, got)
			}
			b.settle(t, got[0], jobs.Settlement{Next: 40 * time.Millisecond, Status: 500, Reason: "status"})
			if early := b.take(t, 10, time.Second); len(early) != 0 {
				t.Fatalf("taken before it was due: %+v", early)
			}
			if d := b.deliveries(t, "alice", w.ID)[0]; d.State != jobs.DeliveryPending || d.Status != 500 || d.Reason != "status" || d.DueAt.Before(b.clock(t).Add(-time.Second)) {
				t.Errorf("%+v", d)
			}
			if attempt == 2 {
				b.pass(t, 110*time.Millisecond) // three failures in a row: the webhook rests as a whole
			}
			b.pass(t, 50*time.Millisecond)
		}
		got := b.take(t, 10, time.Second)
		b.settle(t, got[0], jobs.Settlement{Failed: true, Status: 500})
		if d := b.deliveries(t, "alice", w.ID)[0]; d.State != jobs.DeliveryFailed || d.Attempts != 4 {
			t.Errorf("%+v", d)
		}
	})
}

// TestADeadReceiverTakesOneSlot gives one webhook more than it can hold, and another its event at once.
func TestADeadReceiverTakesOneSlot(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		dead := b.announced(t, "alice", 12)
		flying := b.take(t, 100, 20*time.Second)
		if len(flying) != 4 {
			t.Fatalf("%d under way, want 4", len(flying))
		}
		b.announced(t, "bob", 1)
		if got := b.take(t, 100, 20*time.Second); len(got) != 1 || got[0].WebhookID == dead.ID {
			t.Fatalf("bob waits: %+v", got)
		}
		for _, c := range flying {
			b.settle(t, c, jobs.Settlement{Next: time.Hour})
		}
		if got := b.take(t, 100, time.Second); len(got) != 0 {
			t.Errorf("it does not rest: %+v", got)
		}
		b.pass(t, 110*time.Millisecond)
		got := b.take(t, 100, 20*time.Second)
		if len(got) != 1 {
			t.Fatalf("%d under way after failures, want 1", len(got))
		}
		b.settle(t, got[0], jobs.Settlement{Delivered: true})
		if got := b.take(t, 100, time.Second); len(got) != 4 {
			t.Errorf("%d under way when it is well again, want 4", len(got))
		}
	})
}

func TestAPauseIsForTheWholeWebhook(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		b.announced(t, "alice", 1)
		b.settle(t, b.take(t, 10, time.Second)[0], jobs.Settlement{Next: 10 * time.Millisecond, Pause: 200 * time.Millisecond, Status: 429})
		b.announce(t, "alice")
		b.pass(t, 100*time.Millisecond)
		if got := b.take(t, 10, time.Second); len(got) != 0 {
			t.Fatalf("taken in the pause: %+v", got)
		}
		b.pass(t, 110*time.Millisecond)
		if got := b.take(t, 10, time.Second); len(got) != 2 {
			t.Errorf("%d after the pause, want 2", len(got))
		}
	})
}

// TestADisabledWebhookGetsNoMore says 410 once.
func TestADisabledWebhookGetsNoMore(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		w := b.announced(t, "alice", 3)
		got := b.take(t, 1, time.Second)
		b.settle(t, got[0], jobs.Settlement{Disable: true, Status: 410, Reason: "gone"})
		b.announce(t, "alice")
		sweep(t, b)
		if now, err := b.store.GetWebhook(ctx, "alice", w.ID); err != nil || now.DisabledAt.IsZero() {
			t.Errorf("%+v, %v", now, err)
		}
		all := b.deliveries(t, "alice", w.ID)
		for _, d := range all {
			if d.State != jobs.DeliveryFailed {
				t.Errorf("%+v", d)
			}
		}
		if len(all) != 3 || len(b.take(t, 10, time.Second)) != 0 {
			t.Errorf("%d deliveries", len(all))
		}
		if err := b.store.ReplayDelivery(ctx, "alice", w.ID, got[0].EventID); !errors.Is(err, jobs.ErrTerminal) {
			t.Errorf("replayed while disabled: %v", err)
		}
		if now, err := b.store.UpdateWebhook(ctx, "alice", w.ID, jobs.WebhookChange{URL: "https://example.org"}); err != nil || !now.DisabledAt.IsZero() {
			t.Errorf("enabled: %+v, %v", now, err)
		}
		if err := b.store.ReplayDelivery(ctx, "alice", w.ID, got[0].EventID); err != nil {
			t.Error(err)
		}
		if again := b.take(t, 10, time.Second); len(again) != 1 || again[0].EventID != got[0].EventID || again[0].Attempts != 0 || again[0].URL != "https://example.org" {
			t.Errorf("replayed: %+v", again)
		}
	})
}

func sweep(t *testing.T, b *bundle) {
	t.Helper()
	for {
		more, err := b.store.SweepDeliveries(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// TestADeletedWebhookLeavesNothing has deliveries that wait, that are under way and that have ended.
func TestADeletedWebhookLeavesNothing(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		w := b.announced(t, "alice", 6)
		flying := b.take(t, 2, time.Minute)
		b.settle(t, flying[0], jobs.Settlement{Delivered: true})
		if err := b.store.DeleteWebhook(t.Context(), "alice", w.ID); err != nil {
			t.Fatal(err)
		}
		if got := b.take(t, 10, time.Second); len(got) != 0 {
			t.Errorf("taken from a deleted webhook: %+v", got)
		}
		sweep(t, b)
		if err := b.store.SettleDelivery(t.Context(), flying[1], jobs.Settlement{Next: time.Second}); !errors.Is(err, jobs.ErrStale) {
			t.Errorf("settled after all: %v", err)
		}
		for _, key := range b.keys(t) {
			if strings.Contains(key, ":h") {
				t.Errorf("left: %s", key)
			}
		}
	})
}

// TestSubscribeDeliveriesWakes waits for the nudge of an event.
func TestSubscribeDeliveriesWakes(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	b.hook(t, "alice")
	changes, cancel := b.store.SubscribeDeliveries(t.Context())
	defer cancel()
	within(t, changes) // the poll: the listener is up
	b.announce(t, "alice")
	within(t, changes)
	if age, err := b.store.OldestDelivery(t.Context()); err != nil || age < 0 || age > patience {
		t.Errorf("due for %s, %v", age, err)
	}
}
