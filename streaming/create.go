package streaming

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

// SpecBytesMax bounds a spec in its JSON form.
const SpecBytesMax = 64 << 10

// CreateRequest asks for a session. The caller has checked the spec against the pipeline's contract.
type CreateRequest struct {
	Tenant string
	// ID is the session's, 1 to 64 of a-z A-Z 0-9 and "-_", and must be random: it must never have been used before.
	ID string
	// Room is the media room's name, random and never used before; the caller makes the room before it tells anybody. Empty takes "tf-world-" and the id.
	Room string
	Spec Spec
	// SessionsMax is the number of the tenant's sessions at which this one is refused, in place of SessionsPerTenantMax; 0 leaves it at that.
	SessionsMax int
}

var (
	idPattern   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	namePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	roomPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
)

// The bounds of what a spec may ask for; a pipeline's contract is narrower.
const (
	sideMax = 8192
	fpsMax  = 120
)

// validate names the first field at fault.
func (r CreateRequest) validate() error {
	s := r.Spec
	for _, rule := range []struct {
		wrong bool
		text  string
	}{
		{!namePattern.MatchString(r.Tenant), "tenant"},
		{!idPattern.MatchString(r.ID), "id"},
		{!roomPattern.MatchString(r.Room), "room"},
		{!namePattern.MatchString(s.Pipeline), "pipeline"},
		{s.Width < 2 || s.Width > sideMax || s.Width%2 != 0 || s.Height < 2 || s.Height > sideMax || s.Height%2 != 0, "size"},
		{s.FPS < 1 || s.FPS > fpsMax, "fps"},
		{s.Frames < 0, "frames"},
		{s.Delivery != DeliveryLatest && s.Delivery != DeliveryLossless, "delivery"},
		{s.Delivery == DeliveryLossless && s.Frames == 0, "frames of a lossless session, which must be bounded"},
		{s.Controller == "", "controller"},
		{s.ControlIdleTimeout < 0 || s.SessionTimeout < 0, "time-out"},
	} {
		if rule.wrong {
			return fmt.Errorf("streaming: create: %s: %w", rule.text, ErrInvalid)
		}
	}
	return nil
}

// refusals are the answers of a create that made nothing.
var refusals = map[string]error{
	"exists": ErrExists, "tenant": ErrTenantLimit, "capacity": ErrNoCapacity, "idle": ErrNoIdleWorker, "full": ErrQueueFull,
}

// Create admits a session: assigned when a slot is free and nobody waits for it, else queued with its 1-based Position. It answers ErrNoIdleWorker,
// ErrQueueFull, ErrNoCapacity, ErrTenantLimit, ErrExists or ErrInvalid when it does not.
func (s *Store) Create(ctx context.Context, r CreateRequest) (Session, error) {
	if r.Room == "" {
		r.Room = "tf-world-" + r.ID
	}
	if r.Spec.Delivery == "" {
		r.Spec.Delivery = DeliveryLatest
	}
	if err := r.validate(); err != nil {
		return Session{}, err
	}
	spec, err := json.Marshal(r.Spec)
	if err != nil || len(spec) > SpecBytesMax {
		return Session{}, fmt.Errorf("streaming: create: spec of %d bytes: %w", len(spec), ErrInvalid)
	}
	timeout, idle := r.Spec.SessionTimeout, s.cfg.ControlIdleMax
	if timeout == 0 {
		timeout = s.cfg.SessionTimeout
	}
	if r.Spec.Delivery == DeliveryLossless {
		idle = 0
	}
	tenantMax := s.cfg.SessionsPerTenantMax
	if r.SessionsMax > 0 {
		tenantMax = r.SessionsMax
	}
	list, err := s.evalList(ctx, "create", r.ID, r.Tenant, r.Spec.Pipeline, spec, r.Room, ms(max(timeout, time.Millisecond)), s.cfg.QueueMax,
		tenantMax, ms(s.cfg.QueueTimeout), ms(s.cfg.LeaseTTL), ms(s.cfg.PipelineTTL), ms(idle))
	if err != nil {
		return Session{}, err
	}
	if refused := refusals[word(list, 0)]; refused != nil {
		s.metrics.admissions.WithLabelValues(word(list, 0)).Inc()
		return Session{}, fmt.Errorf("streaming: create %s: %w", r.ID, refused)
	}
	session, err := decode(r.ID, sublist(list, 1))
	if err == nil {
		s.metrics.admissions.WithLabelValues(string(session.Status)).Inc()
	}
	return session, err
}
