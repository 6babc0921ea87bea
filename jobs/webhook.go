package jobs

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The events that webhooks are told of.
const (
	EventVideoCompleted = "video.completed"
	EventVideoFailed    = "video.failed"
	EventBatchCompleted = "batch.completed"
	EventBatchFailed    = "batch.failed"
	EventBatchExpired   = "batch.expired"
	EventBatchCancelled = "batch.cancelled"
)

// WebhookEventTypes are all events that happen here.
func WebhookEventTypes() []string {
	return []string{EventVideoCompleted, EventVideoFailed, EventBatchCompleted, EventBatchFailed, EventBatchExpired, EventBatchCancelled}
}

// Webhook is an endpoint of a tenant that wants to be told of events.
type Webhook struct {
	ID         string
	Tenant     string
	Name       string
	URL        string
	EventTypes []string
	// Hint is the end of the secret, enough to tell secrets apart.
	Hint string
	// UpdatedAt is when name, address, events or secret last changed; DisabledAt when its receiver said 410, zero while it is on.
	CreatedAt, UpdatedAt, DisabledAt time.Time
}

// Secret is the signing secret of a webhook. It prints as stars wherever it is printed by accident.
type Secret string

// String is not the secret.
func (s Secret) String() string { return "********" }

// GoString is not the secret.
func (s Secret) GoString() string { return "********" }

// LogValue is not the secret.
func (s Secret) LogValue() slog.Value { return slog.StringValue("********") }

// Reveal is the secret: "whsec_" and the base64 of 32 random bytes.
func (s Secret) Reveal() string { return string(s) }

// The bounds of an endpoint, and of its secret.
const (
	webhookNameRunesMax = 256
	webhookURLBytesMax  = 2048
	webhookSecretPrefix = "whsec_"
	webhookSecretBytes  = 32
	webhookHintChars    = 4
	// oldSecretTTL is how long a secret signs along after another took its place, where that was asked for.
	oldSecretTTL = 24 * time.Hour
)

var webhookPattern = regexp.MustCompile(`^whe_[0-9A-Za-z]{26}$`)

// ValidWebhookID says whether the text has the form of a webhook's id.
func ValidWebhookID(id string) bool { return webhookPattern.MatchString(id) }

// NewWebhookSecret makes a signing secret and its hint.
func NewWebhookSecret() (secret Secret, hint string) {
	raw := make([]byte, webhookSecretBytes)
	_, _ = rand.Read(raw) // never fails: the standard library ends the process instead
	text := webhookSecretPrefix + base64.StdEncoding.EncodeToString(raw)
	plain := strings.TrimRight(text, "=")
	return Secret(text), webhookSecretPrefix + "..." + plain[len(plain)-webhookHintChars:]
}

// WebhookChange is what an update gives; an empty field stays as it is.
type WebhookChange struct {
	Name       string
	URL        string
	EventTypes []string
}

// valid checks the fields that are given. What the address means is not decided here.
func (c WebhookChange) valid() bool {
	line := func(text string, bytesMax int) bool {
		return len(text) <= bytesMax && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
	}
	for _, kind := range c.EventTypes {
		if !slices.Contains(WebhookEventTypes(), kind) {
			return false
		}
	}
	return line(c.Name, 4*webhookNameRunesMax) && utf8.RuneCountInString(c.Name) <= webhookNameRunesMax && line(c.URL, webhookURLBytesMax)
}

// events writes event types as scripts look for them: each between two commas.
func (c WebhookChange) events() string {
	if len(c.EventTypes) == 0 {
		return ""
	}
	kinds := slices.Compact(slices.Sorted(slices.Values(c.EventTypes)))
	return "," + strings.Join(kinds, ",") + ","
}

// CreateWebhook makes an endpoint, whose secret is shown this once. ErrTooMany means that the tenant has its limit of them.
func (s *Store) CreateWebhook(ctx context.Context, tenant string, c WebhookChange) (Webhook, Secret, error) {
	if !tenantPattern.MatchString(tenant) || !c.valid() || c.Name == "" || c.URL == "" || len(c.EventTypes) == 0 {
		return Webhook{}, "", fmt.Errorf("jobs: create webhook: %w", ErrInvalid)
	}
	id := newID("whe_", time.Now())
	secret, hint := NewWebhookSecret()
	answer, err := s.eval(ctx, "hook_create", id, tenant, s.cfg.WebhooksPerTenantMax, c.Name, c.URL, c.events(), s.seals.seal(secret, id), hint)
	if err != nil {
		return Webhook{}, "", err
	}
	created, _ := answer.(string)
	if created == "full" {
		return Webhook{}, "", fmt.Errorf("jobs: create webhook: %w", ErrTooMany)
	}
	at := parseMS(created)
	if at.IsZero() {
		return Webhook{}, "", fmt.Errorf("jobs: create webhook: the id is taken: %w", ErrInvalid)
	}
	return Webhook{ID: id, Tenant: tenant, Name: c.Name, URL: c.URL, EventTypes: splitEvents(c.events()), Hint: hint, CreatedAt: at, UpdatedAt: at}, secret, nil
}

// GetWebhook reads an endpoint; another tenant's is ErrNotFound.
func (s *Store) GetWebhook(ctx context.Context, tenant, id string) (Webhook, error) {
	if !ValidWebhookID(id) {
		return Webhook{}, fmt.Errorf("jobs: get webhook: %w", ErrNotFound)
	}
	f, err := s.rdb.HGetAll(ctx, s.key("h:")+id).Result()
	if err != nil {
		return Webhook{}, unavailable("get webhook", err)
	}
	return ownWebhook(id, tenant, f)
}

// ListWebhooks reads a page of a tenant's endpoints by id, which is by time of creation.
func (s *Store) ListWebhooks(ctx context.Context, tenant string, q ListQuery) (page []Webhook, hasMore bool, err error) {
	if !tenantPattern.MatchString(tenant) || q.After != "" && !ValidWebhookID(q.After) {
		return nil, false, fmt.Errorf("jobs: list webhooks: %w", ErrInvalid)
	}
	answer, err := s.evalList(ctx, "hook_list", tenant)
	if err != nil {
		return nil, false, err
	}
	for _, row := range answer {
		cells, _ := row.([]any)
		if w, err := ownWebhook(word(cells, 0), tenant, fields(cells, 1)); err == nil {
			page = append(page, w)
		}
	}
	if q.Descending {
		slices.Reverse(page)
	}
	page = slices.DeleteFunc(page, func(w Webhook) bool {
		return q.After != "" && (w.ID == q.After || q.Descending != (w.ID < q.After))
	})
	if n := q.limit(); len(page) > n {
		return page[:n], true, nil
	}
	return page, false, nil
}

// UpdateWebhook changes what is given and returns the endpoint. One that was disabled is enabled again.
func (s *Store) UpdateWebhook(ctx context.Context, tenant, id string, c WebhookChange) (Webhook, error) {
	if !ValidWebhookID(id) {
		return Webhook{}, fmt.Errorf("jobs: update webhook: %w", ErrNotFound)
	}
	if !c.valid() {
		return Webhook{}, fmt.Errorf("jobs: update webhook %s: %w", id, ErrInvalid)
	}
	answer, err := s.evalList(ctx, "hook_update", id, tenant, c.Name, c.URL, c.events())
	if err != nil {
		return Webhook{}, err
	}
	return ownWebhook(id, tenant, pairs(answer))
}

// RotateWebhookSecret gives an endpoint a new secret, which is shown this once. With keepOld the one before signs along for 24 hours.
func (s *Store) RotateWebhookSecret(ctx context.Context, tenant, id string, keepOld bool) (Webhook, Secret, error) {
	if !ValidWebhookID(id) {
		return Webhook{}, "", fmt.Errorf("jobs: rotate: %w", ErrNotFound)
	}
	keep := time.Duration(0)
	if keepOld {
		keep = oldSecretTTL
	}
	secret, hint := NewWebhookSecret()
	answer, err := s.evalList(ctx, "hook_rotate", id, tenant, s.seals.seal(secret, id), hint, ms(keep))
	if err != nil {
		return Webhook{}, "", err
	}
	w, err := ownWebhook(id, tenant, pairs(answer))
	if err != nil {
		return Webhook{}, "", err
	}
	return w, secret, nil
}

// DeleteWebhook removes an endpoint with its secrets. Deliveries under way end; what waited is dropped.
func (s *Store) DeleteWebhook(ctx context.Context, tenant, id string) error {
	if !ValidWebhookID(id) {
		return fmt.Errorf("jobs: delete webhook: %w", ErrNotFound)
	}
	answer, err := s.evalWord(ctx, "hook_delete", id, tenant)
	if err != nil {
		return err
	}
	if answer != "ok" {
		return fmt.Errorf("jobs: delete webhook %s: %w", id, ErrNotFound)
	}
	return nil
}

// WebhookSecrets reads the secrets that sign for an endpoint, the newest first. ErrSealed means that this process cannot open them.
func (s *Store) WebhookSecrets(ctx context.Context, tenant, id string) ([]Secret, error) {
	if _, err := s.GetWebhook(ctx, tenant, id); err != nil {
		return nil, err
	}
	pipe := s.rdb.Pipeline()
	now, f := pipe.Time(ctx), pipe.HGetAll(ctx, s.key("hs:")+id)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unavailable("webhook secrets", err)
	}
	secrets := f.Val()
	if secrets["sec"] == "" {
		return nil, fmt.Errorf("jobs: webhook secrets %s: %w", id, ErrNotFound)
	}
	old := secrets["old"]
	if !parseMS(secrets["oldx"]).After(now.Val()) {
		old = ""
	}
	return s.openSecrets(id, secrets["sec"], old)
}

// openSecrets opens the secret of an endpoint and, where there is one, the old one. An old one that does not open is left out: the new one signs without it.
func (s *Store) openSecrets(id, text, old string) ([]Secret, error) {
	secret, err := s.seals.open(text, id)
	if err != nil {
		return nil, err
	}
	out := []Secret{secret}
	if old == "" {
		return out, nil
	}
	if secret, err := s.seals.open(old, id); err == nil {
		out = append(out, secret)
	}
	return out, nil
}

// ownWebhook reads the fields of an endpoint where they are of the tenant.
func ownWebhook(id, tenant string, f map[string]string) (Webhook, error) {
	if len(f) == 0 || f["t"] != tenant {
		return Webhook{}, fmt.Errorf("jobs: webhook %s: %w", id, ErrNotFound)
	}
	return Webhook{ID: id, Tenant: tenant, Name: f["name"], URL: f["url"], EventTypes: splitEvents(f["ev"]), Hint: f["hint"], CreatedAt: parseMS(f["c"]),
		UpdatedAt: parseMS(f["u"]), DisabledAt: parseMS(f["off"])}, nil
}

func splitEvents(text string) []string { return strings.Split(strings.Trim(text, ","), ",") }
