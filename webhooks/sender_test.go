package webhooks_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/internal/outbound"
	"telefuser/jobs"
	"telefuser/webhooks"
)

// TestAnEventIsDelivered has one of each type.
func TestAnEventIsDelivered(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	w, secret := b.hook(t, "alice", b.stage.URL("/hook"))
	b.send(t, scaled())
	done := b.job(t, "alice")
	stop := b.work(t)
	eventually(t, "completed", func() bool { return len(r.got("/hook")) == 1 })
	stop()
	failed := b.cancelled(t, "alice")
	eventually(t, "failed", func() bool { return len(r.got("/hook")) == 2 })
	for i, want := range []struct{ kind, id, code string }{{jobs.EventVideoCompleted, done.ID, ""}, {jobs.EventVideoFailed, failed, jobs.CodeCancelled}} {
		c := r.got("/hook")[i]
		c.verify(t, secret)
		e := c.event(t)
		if e.Object != "event" || e.Type != want.kind || e.Data.ID != want.id || e.CreatedAt < time.Now().Add(-time.Minute).Unix() || c.header.Get("Webhook-Id") != e.ID {
			t.Errorf("%s with %v", c.body, c.header)
		}
		if (e.Data.Error == nil) != (want.code == "") || want.code != "" && e.Data.Error.Code != want.code {
			t.Errorf("error of %s", c.body)
		}
		if len(c.body) >= 20_000 || strings.Contains(string(c.body), "canary prompt") || c.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s", c.body)
		}
	}
	eventually(t, "both settled", func() bool {
		all := b.deliveries(t, "alice", w.ID)
		return len(all) == 2 && all[0].State == jobs.DeliveryDelivered && all[1].State == jobs.DeliveryDelivered
	})
	if strings.Contains(b.logs.String(), secret.Reveal()[6:40]) {
		t.Error("the secret is in the log")
	}
}

// TestAReceiverThatIsDownGetsEverything is down for a part of the schedule, and has every event once it is back, each under one id and signed anew.
func TestAReceiverThatIsDownGetsEverything(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	r.say("/hook", status(http.StatusInternalServerError))
	w, secret := b.hook(t, "alice", b.stage.URL("/hook"))
	b.send(t, scaled())
	want := map[string]bool{}
	for range 20 {
		want["evt_"+strings.TrimPrefix(b.cancelled(t, "alice"), "video_")] = true
	}
	eventually(t, "attempts while it is down", func() bool { return len(r.got("/hook")) >= 5 })
	before := len(r.got("/hook"))
	r.say("/hook", status(http.StatusOK))
	got := map[string]int{}
	eventually(t, "everything", func() bool {
		clear(got)
		for _, c := range r.got("/hook")[before:] {
			got[c.header.Get("Webhook-Id")]++
		}
		return len(got) == len(want)
	})
	bodies := map[string]string{}
	for _, c := range r.got("/hook") {
		c.verify(t, secret)
		id := c.header.Get("Webhook-Id")
		if !want[id] || bodies[id] != "" && bodies[id] != string(c.body) {
			t.Errorf("%s has the body %s", id, c.body)
		}
		bodies[id] = string(c.body)
	}
	eventually(t, "all settled", func() bool {
		for _, d := range b.deliveries(t, "alice", w.ID) {
			if d.State != jobs.DeliveryDelivered {
				return false
			}
		}
		return true
	})
}

// TestASpentScheduleFails counts the attempts.
func TestASpentScheduleFails(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	r.say("/hook", status(http.StatusBadRequest))
	w, _ := b.hook(t, "alice", b.stage.URL("/hook"))
	cfg := scaled()
	cfg.Schedule = cfg.Schedule[:3]
	b.send(t, cfg)
	b.cancelled(t, "alice")
	eventually(t, "the end", func() bool { return b.deliveries(t, "alice", w.ID)[0].State == jobs.DeliveryFailed })
	if d := b.deliveries(t, "alice", w.ID)[0]; d.Attempts != 3 || d.Status != 400 || len(r.got("/hook")) != 3 {
		t.Errorf("%+v after %d calls", d, len(r.got("/hook")))
	}
}

// TestA410Disables sends one more event, which nobody gets.
func TestA410Disables(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	r.say("/hook", status(http.StatusGone))
	w, _ := b.hook(t, "alice", b.stage.URL("/hook"))
	b.send(t, scaled())
	b.cancelled(t, "alice")
	eventually(t, "disabled", func() bool {
		now, err := b.store.GetWebhook(t.Context(), "alice", w.ID)
		return err == nil && !now.DisabledAt.IsZero()
	})
	b.cancelled(t, "alice")
	if got := b.deliveries(t, "alice", w.ID); len(got) != 1 || got[0].State != jobs.DeliveryFailed || len(r.got("/hook")) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestARedirectIsAFailure leads to the receiver itself.
func TestARedirectIsAFailure(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	r.say("/hook", func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "/other", http.StatusTemporaryRedirect)
	})
	w, _ := b.hook(t, "alice", b.stage.URL("/hook"))
	b.send(t, scaled())
	b.cancelled(t, "alice")
	eventually(t, "a second attempt", func() bool { return len(r.got("/hook")) >= 2 })
	if d := b.deliveries(t, "alice", w.ID)[0]; d.State != jobs.DeliveryPending || d.Reason != "redirect" || len(r.got("/other")) != 0 {
		t.Errorf("%+v, and %d calls of where it led", d, len(r.got("/other")))
	}
}

// TestRetryAfterIsHonoured asks for more than the schedule has.
func TestRetryAfterIsHonoured(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	r.say("/hook", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	b.hook(t, "alice", b.stage.URL("/hook"))
	b.send(t, scaled())
	b.cancelled(t, "alice")
	eventually(t, "the first attempt", func() bool { return len(r.got("/hook")) == 1 })
	asked := time.Now()
	b.cancelled(t, "alice") // the whole endpoint was asked to rest
	eventually(t, "another", func() bool { return len(r.got("/hook")) > 1 })
	if rest := time.Since(asked); rest < 800*time.Millisecond {
		t.Errorf("it rested for %s, was asked for 1 s", rest)
	}
}

// TestADeadReceiverBlocksNobody lets many endpoints of one tenant hang, and delivers to another one at once. Jobs end as ever meanwhile.
func TestADeadReceiverBlocksNobody(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	r.say("/dead", func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
	for range 10 {
		b.hook(t, "alice", b.stage.URL("/dead"))
	}
	b.hook(t, "bob", b.stage.URL("/alive"))
	b.send(t, scaled())
	for range 20 {
		b.cancelled(t, "alice")
	}
	eventually(t, "the dead ones to hang", func() bool { return len(r.got("/dead")) >= 40 })
	for i := range 5 {
		begun := time.Now()
		b.cancelled(t, "bob")
		if took := time.Since(begun); took > time.Second {
			t.Errorf("ending a job took %s", took)
		}
		eventually(t, "bob's event", func() bool { return len(r.got("/alive")) > i })
		if took := time.Since(begun); took > time.Second {
			t.Errorf("bob's event took %s behind dead receivers", took)
		}
	}
}

// TestASenderDiesInTheMiddle cuts an attempt off; the next sender makes it again when the lease is over.
func TestASenderDiesInTheMiddle(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	r.say("/hook", func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
	w, secret := b.hook(t, "alice", b.stage.URL("/hook"))
	id := b.cancelled(t, "alice") // nobody sends yet: the event lies in Redis
	cfg := scaled()
	cfg.Lease, cfg.Grace = 300*time.Millisecond, time.Millisecond
	stop := b.send(t, cfg)
	eventually(t, "an attempt", func() bool { return len(r.got("/hook")) == 1 })
	stop()
	if d := b.deliveries(t, "alice", w.ID)[0]; d.State != jobs.DeliveryPending || d.Attempts != 0 {
		t.Errorf("cut off: %+v", d)
	}
	r.say("/hook", nil)
	b.send(t, cfg)
	b.send(t, cfg)
	eventually(t, "the event", func() bool { return b.deliveries(t, "alice", w.ID)[0].State == jobs.DeliveryDelivered })
	all := r.got("/hook")
	last := all[len(all)-1]
	last.verify(t, secret)
	if last.event(t).Data.ID != id || len(all) != 2 || all[0].header.Get("Webhook-Id") != last.header.Get("Webhook-Id") {
		t.Errorf("%d calls, the last %s", len(all), last.body)
	}
}

// TestSendersShareTheWork has three of them and gets every event once.
func TestSendersShareTheWork(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	b.hook(t, "alice", b.stage.URL("/hook"))
	for range 3 {
		b.send(t, scaled())
	}
	const n = 60
	for range n {
		b.cancelled(t, "alice")
	}
	eventually(t, "all events", func() bool { return len(r.got("/hook")) >= n })
	seen := map[string]int{}
	for _, c := range r.got("/hook") {
		seen[c.header.Get("Webhook-Id")]++
	}
	if len(seen) != n || len(r.got("/hook")) != n {
		t.Errorf("%d calls of %d events, want %d", len(r.got("/hook")), len(seen), n)
	}
}

// TestBothSecretsSignWhileOneIsReplaced verifies with each.
func TestBothSecretsSignWhileOneIsReplaced(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	w, first := b.hook(t, "alice", b.stage.URL("/hook"))
	_, second, err := b.store.RotateWebhookSecret(t.Context(), "alice", w.ID, true)
	if err != nil {
		t.Fatal(err)
	}
	b.send(t, scaled())
	b.cancelled(t, "alice")
	eventually(t, "the event", func() bool { return len(r.got("/hook")) == 1 })
	r.got("/hook")[0].verify(t, first)
	r.got("/hook")[0].verify(t, second)
}

// TestNoVectorReachesTheCanary sends to every address that must not be reached, which a store takes as it takes any text: what guards is the call.
func TestNoVectorReachesTheCanary(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	cfg := scaled()
	cfg.Schedule = cfg.Schedule[:1]
	b.send(t, cfg)
	desk := webhooks.NewDesk(cfg, b.store, b.client)
	b.stage.Each(t, func(t *testing.T, way, url string, flip func()) {
		if err := desk.CheckURL(t.Context(), url); (way == "direct") != (err != nil) {
			t.Errorf("%s, %s: registered with %v", url, way, err)
		}
		flip()
		w, _, err := b.store.CreateWebhook(t.Context(), "alice", jobs.WebhookChange{Name: way, URL: url, EventTypes: []string{jobs.EventVideoFailed}})
		if err != nil {
			t.Fatal(err)
		}
		if status, err := desk.Test(t.Context(), "alice", w.ID, jobs.EventVideoFailed); way == "redirect" != (err == nil) || err == nil && status != http.StatusFound {
			t.Errorf("%s, %s: a test answers %d, %v", url, way, status, err)
		}
		b.cancelled(t, "alice")
		eventually(t, "the end of "+url, func() bool { return b.deliveries(t, "alice", w.ID)[0].State == jobs.DeliveryFailed })
		if err := b.store.DeleteWebhook(t.Context(), "alice", w.ID); err != nil {
			t.Fatal(err)
		}
	})
	if b.stage.Hits() == 0 || len(r.got("/self")) != 0 {
		t.Errorf("%d redirects, %d calls by rebinding", b.stage.Hits(), len(r.got("/self")))
	}
}

func TestPlainHTTPIsRefusedUnlessAllowed(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	w, _ := b.hook(t, "alice", b.stage.URL("/hook"))
	cfg := scaled()
	cfg.AllowHTTP, cfg.Schedule = false, cfg.Schedule[:1]
	b.send(t, cfg)
	b.cancelled(t, "alice")
	eventually(t, "the end", func() bool { return b.deliveries(t, "alice", w.ID)[0].State == jobs.DeliveryFailed })
	if d := b.deliveries(t, "alice", w.ID)[0]; d.Reason != "address" || len(r.got("/hook")) != 0 {
		t.Errorf("%+v", d)
	}
}

// TestDesk tests a receiver.
func TestDesk(t *testing.T) {
	b := setup(t, func(c *outbound.Config) { c.FailureFloor = 100 * time.Millisecond })
	r := b.receiver()
	w, secret := b.hook(t, "alice", b.stage.URL("/hook"))
	desk := webhooks.NewDesk(scaled(), b.store, b.client)
	for kind, code := range map[string]int{jobs.EventVideoCompleted: 204, jobs.EventVideoFailed: 500} {
		r.say("/hook", status(code))
		if got, err := desk.Test(t.Context(), "alice", w.ID, kind); err != nil || got != code {
			t.Errorf("%s: %d, %v", kind, got, err)
		}
		all := r.got("/hook")
		last := all[len(all)-1]
		last.verify(t, secret)
		if last.event(t).Type != kind {
			t.Errorf("%s", last.body)
		}
	}
	if len(b.deliveries(t, "alice", w.ID)) != 0 {
		t.Error("a test is kept")
	}
	if _, err := desk.Test(t.Context(), "bob", w.ID, jobs.EventVideoFailed); err == nil {
		t.Error("another tenant tests it")
	}
}

// TestWhatWaitsIsMeasured scrapes with a delivery that nobody takes, and once it is taken.
func TestWhatWaitsIsMeasured(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	b.hook(t, "alice", b.stage.URL("/hook"))
	b.cancelled(t, "alice")
	registry := prometheus.NewRegistry()
	cfg := scaled()
	cfg.Metrics = registry
	value := func(name string) (found float64, there bool) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == name {
				m := f.GetMetric()[0]
				return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
			}
		}
		return 0, false
	}
	s, err := webhooks.NewSender(cfg, b.store, b.client)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "an age", func() bool { age, _ := value("telefuser_webhooks_oldest_due_seconds"); return age > 0 })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	eventually(t, "the event", func() bool { return len(r.got("/hook")) == 1 })
	eventually(t, "no age", func() bool {
		age, there := value("telefuser_webhooks_oldest_due_seconds")
		sent, _ := value("telefuser_webhooks_attempts_total")
		return there && age == 0 && sent == 1
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
