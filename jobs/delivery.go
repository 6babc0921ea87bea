package jobs

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// DeliveryState is where a delivery stands.
type DeliveryState string

// The states. A delivery ends as delivered or failed, and begins anew when it is replayed.
const (
	DeliveryPending   DeliveryState = "pending"
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryFailed    DeliveryState = "failed"
)

// Delivery is one event on its way to one webhook.
type Delivery struct {
	WebhookID string
	// EventID is the same for every attempt and every webhook of the tenant.
	EventID   string
	Type      string
	SubjectID string
	// Failure is why the subject failed; nil where it did not.
	Failure *Failure
	State   DeliveryState
	// Attempts counts those that ended; Status is what the receiver said to the last one, 0 for nothing, and Reason a word of the sender's for it.
	Attempts int
	Status   int
	Reason   string
	// CreatedAt is when the event happened, AttemptedAt when the last attempt ended, DueAt when the next one begins; zero means never.
	CreatedAt, AttemptedAt, DueAt time.Time
}

// DeliveryClaim is a delivery that one sender has until its lease ends.
type DeliveryClaim struct {
	Delivery
	URL string
	// Secrets sign it, the newest first. None means that they are sealed with a key that this process does not have: it leaves the delivery to another one.
	Secrets []Secret
	nonce   string
}

// Settlement is what came of an attempt. Exactly one of Delivered, Failed and Disable is set, or none: then there is another attempt after Next.
type Settlement struct {
	Delivered bool
	Failed    bool
	// Disable ends the delivery and every other of the webhook, which gets no more.
	Disable bool
	Next    time.Duration
	// Pause keeps the whole webhook quiet, as its receiver asked for. One that fails again and again rests longer each time, up to RestMax.
	Pause   time.Duration
	RestMax time.Duration
	Status  int
	Reason  string
}

// The pace of one webhook.
const (
	// flyingMax is how many of its deliveries are under way at once; one alone from badMax failures in a row on, after each of which it also rests. So a dead receiver
	// takes little of the senders' time.
	flyingMax = 4
	badMax    = 3
	// deliveriesPollEvery is the longest a sender waits for a nudge.
	deliveriesPollEvery = time.Second
	// deliveriesSweepBatch is how many deliveries of a dead webhook one script call ends.
	deliveriesSweepBatch = 500
	// reasonDisabled is why those of a disabled one failed.
	reasonDisabled = "disabled"
)

var eventPattern = regexp.MustCompile(`^evt_[0-9A-Za-z]{1,64}$`)

// NewEventID makes the id of an event that belongs to no job.
func NewEventID(now time.Time) string { return newID("evt_", now) }

// TakeDeliveries claims up to limit deliveries that are due. Whoever has one settles it before lease is over, or another sender gets it.
func (s *Store) TakeDeliveries(ctx context.Context, limit int, lease time.Duration) ([]DeliveryClaim, error) {
	nonce := rand.Text()
	answer, err := s.evalList(ctx, "hook_take", limit, flyingMax, badMax, ms(lease), nonce)
	if err != nil {
		return nil, err
	}
	out := make([]DeliveryClaim, 0, len(answer))
	for _, row := range answer {
		cells, _ := row.([]any)
		claim := DeliveryClaim{Delivery: decodeDelivery(word(cells, 0), word(cells, 1), fields(cells, 5)), URL: word(cells, 2), nonce: nonce}
		claim.Secrets = s.takenSecrets(ctx, claim.WebhookID, word(cells, 3), word(cells, 4))
		out = append(out, claim)
	}
	return out, nil
}

// takenSecrets opens the secrets of a delivery, and seals on the way the one that is not, or no longer as it should be.
func (s *Store) takenSecrets(ctx context.Context, webhook, text, old string) []Secret {
	secrets, err := s.openSecrets(webhook, text, old)
	if err != nil {
		s.log.ErrorContext(ctx, "a webhook's secret cannot be opened: give this process its key", "webhook_id", webhook, "error", err)
		return nil
	}
	if !s.seals.current(text) {
		if _, err := s.reseal(ctx, webhook, "sec", text); err != nil {
			s.log.WarnContext(ctx, "a webhook's secret was not sealed", "webhook_id", webhook, "error", err) // the next delivery tries again
		}
	}
	return secrets
}

// SettleDelivery writes what came of an attempt. ErrStale means that the delivery is no longer this sender's, and nothing was written.
func (s *Store) SettleDelivery(ctx context.Context, claim DeliveryClaim, r Settlement) error {
	outcome := "retry"
	switch {
	case r.Delivered:
		outcome = "delivered"
	case r.Disable:
		outcome = "gone"
	case r.Failed:
		outcome = "failed"
	}
	answer, err := s.evalWord(ctx, "hook_settle", claim.WebhookID, claim.EventID, claim.nonce, outcome, r.Status, r.Reason, ms(r.Next), ms(r.Pause), badMax, ms(r.RestMax))
	if err != nil {
		return err
	}
	if answer != "ok" {
		return fmt.Errorf("jobs: settle delivery of %s: %w", claim.EventID, ErrStale)
	}
	return nil
}

// SweepDeliveries ends what webhooks that were deleted or disabled still had to send, a batch at a time. It says whether there may be more.
func (s *Store) SweepDeliveries(ctx context.Context) (more bool, err error) {
	n, err := s.eval(ctx, "hook_sweep", deliveriesSweepBatch, reasonDisabled)
	if err != nil {
		return false, err
	}
	count, _ := n.(int64)
	return count > 0, nil
}

// ListDeliveries reads the last deliveries of a webhook, the newest first. Ended ones are kept for seven days.
func (s *Store) ListDeliveries(ctx context.Context, tenant, webhookID string, limit int) ([]Delivery, error) {
	if !ValidWebhookID(webhookID) || limit < 1 {
		return nil, fmt.Errorf("jobs: list deliveries: %w", ErrNotFound)
	}
	answer, err := s.evalList(ctx, "hook_history", webhookID, tenant, limit)
	if err != nil {
		return nil, err
	}
	if word(answer, 0) != "ok" {
		return nil, fmt.Errorf("jobs: list deliveries of %s: %w", webhookID, ErrNotFound)
	}
	out := make([]Delivery, 0, len(answer)-1)
	for _, row := range answer[1:] {
		cells, _ := row.([]any)
		d := decodeDelivery(webhookID, word(cells, 0), fields(cells, 2))
		if due, err := strconv.ParseFloat(word(cells, 1), 64); err == nil {
			d.DueAt = time.UnixMilli(int64(due)).UTC()
		}
		out = append(out, d)
	}
	return out, nil
}

// ReplayDelivery sends an ended delivery again, with its whole schedule and under its old id. One that is still pending stays as it is. ErrTerminal means that
// the webhook is disabled.
func (s *Store) ReplayDelivery(ctx context.Context, tenant, webhookID, eventID string) error {
	if !ValidWebhookID(webhookID) || !eventPattern.MatchString(eventID) {
		return fmt.Errorf("jobs: replay: %w", ErrNotFound)
	}
	answer, err := s.evalWord(ctx, "hook_replay", webhookID, tenant, eventID)
	switch {
	case err != nil:
		return err
	case answer == "missing":
		return fmt.Errorf("jobs: replay %s: %w", eventID, ErrNotFound)
	case answer == "off":
		return fmt.Errorf("jobs: replay %s: the webhook is disabled: %w", eventID, ErrTerminal)
	}
	return nil
}

// SubscribeDeliveries nudges whenever something may be due, and at least every second.
func (s *Store) SubscribeDeliveries(ctx context.Context) (changes <-chan struct{}, cancel func()) {
	return s.deliveries.subscribe(ctx, "")
}

// OldestDelivery is how long the delivery that is due the longest has been so; 0 when none is.
func (s *Store) OldestDelivery(ctx context.Context) (time.Duration, error) {
	pipe := s.rdb.Pipeline()
	now, first := pipe.Time(ctx), pipe.ZRangeWithScores(ctx, s.key("hnext"), 0, 0)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, unavailable("oldest delivery", err)
	}
	return overdue(first.Val(), now.Val()), nil
}

func decodeDelivery(webhookID, eventID string, f map[string]string) Delivery {
	d := Delivery{WebhookID: webhookID, EventID: eventID, Type: f["ty"], SubjectID: f["sub"], State: DeliveryState(f["s"]), Reason: f["why"],
		CreatedAt: parseMS(f["c"]), AttemptedAt: parseMS(f["at"])}
	read := reader{fields: f}
	d.Attempts, d.Status = int(read.number("n")), int(read.number("code"))
	if f["ec"] != "" {
		d.Failure = &Failure{Code: f["ec"], Message: f["em"]}
	}
	return d
}
