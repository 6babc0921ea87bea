package webhooks_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"telefuser/jobs"
	"telefuser/webhooks"
)

// TestASenderWithoutTheKeyLeavesADelivery to one that has it, and costs it no attempt.
func TestASenderWithoutTheKeyLeavesADelivery(t *testing.T) {
	b := setup(t)
	r := b.receiver()
	rdb, err := jobs.Connect(t.Context(), jobs.RedisConfig{Addr: shared.Addr})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	knows, err := jobs.New(jobs.Config{Prefix: b.store.Config().Prefix, SecretKeys: [][]byte{bytes.Repeat([]byte{7}, jobs.SecretKeyBytes)}}, rdb, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = knows.Close() }()
	w, secret, err := knows.CreateWebhook(t.Context(), "alice", jobs.WebhookChange{Name: "n", URL: b.stage.URL("/hook"), EventTypes: jobs.WebhookEventTypes()})
	if err != nil {
		t.Fatal(err)
	}
	cfg := scaled()
	cfg.Lease = 200 * time.Millisecond
	stop := b.send(t, cfg)
	b.cancelled(t, "alice")
	eventually(t, "it says that the key is missing", func() bool { return bytes.Contains([]byte(b.logs.String()), []byte("cannot be opened")) })
	if got := b.deliveries(t, "alice", w.ID); len(got) != 1 || got[0].Attempts != 0 || got[0].State != jobs.DeliveryPending || len(r.got("/hook")) != 0 {
		t.Errorf("%+v, %d calls", got, len(r.got("/hook")))
	}
	stop()
	other := *b
	other.store = knows
	other.send(t, webhooks.Config{AllowHTTP: true})
	eventually(t, "the other one sends it", func() bool { return len(r.got("/hook")) == 1 })
	r.got("/hook")[0].verify(t, secret)
}
