package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"telefuser/internal/outbound"
	"telefuser/jobs"
)

// Endpoints is what the desk uses of jobs.Store.
type Endpoints interface {
	GetWebhook(ctx context.Context, tenant, id string) (jobs.Webhook, error)
	WebhookSecrets(ctx context.Context, tenant, id string) ([]jobs.Secret, error)
}

// testsMax is how many tests of receivers run at once, and how many wait: whoever tests has to be there for it.
const testsMax = 16

// Desk answers what people ask while they wait: whether an address will do, and what a receiver says to a sample.
type Desk struct {
	cfg       Config
	endpoints Endpoints
	caller    Caller
	tests     chan struct{}
}

// NewDesk makes a desk. Of the configuration it uses AllowHTTP alone.
func NewDesk(cfg Config, endpoints Endpoints, caller Caller) *Desk {
	return &Desk{cfg: cfg, endpoints: endpoints, caller: caller, tests: make(chan struct{}, testsMax)}
}

// CheckURL says whether a webhook may have this address, as things stand: ErrAddress for its form, ErrUnreachable for where it leads.
func (d *Desk) CheckURL(ctx context.Context, url string) error {
	return translate(d.caller.CheckURL(ctx, url, d.cfg.schemes()))
}

// Test sends a sample of an event to a webhook, once, and answers the status of its receiver. It is signed like any other, and leaves no trace.
func (d *Desk) Test(ctx context.Context, tenant, id, kind string) (status int, err error) {
	hook, err := d.endpoints.GetWebhook(ctx, tenant, id)
	if err != nil {
		return 0, err
	}
	secrets, err := d.endpoints.WebhookSecrets(ctx, tenant, id)
	if err != nil {
		return 0, err
	}
	select {
	case d.tests <- struct{}{}:
		defer func() { <-d.tests }()
	case <-ctx.Done():
		return 0, fmt.Errorf("webhooks: test: %w", ctx.Err())
	}
	now := time.Now()
	m, err := message(sample(kind, now), hook.URL, d.cfg.schemes(), secrets, now)
	if err != nil {
		return 0, err
	}
	m.Even = true
	answer, err := d.caller.Post(ctx, m)
	return answer.Status, translate(err)
}

// translate puts the errors of the way out into the words of this room.
func translate(err error) error {
	switch {
	case errors.Is(err, outbound.ErrURL):
		return fmt.Errorf("webhooks: %w: %w", ErrAddress, err)
	case errors.Is(err, outbound.ErrUnreachable):
		return fmt.Errorf("webhooks: %w: %w", ErrUnreachable, err)
	}
	return err
}
