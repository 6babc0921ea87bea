package streaming

import (
	"context"
)

// CreateRequest asks for a session. The caller has checked the spec against the pipeline's contract.
type CreateRequest struct {
	Tenant string
	// ID is the session's, 1 to 64 of a-z 0-9 and "-_", and must be random: it must never have been used before.
	ID string
	// Room is the media room's name, random and never used before; the caller makes the room before it tells anybody. Empty takes "tf-world-" and the id.
	Room string
	Spec Spec
}

// Create admits a session: assigned when a slot is free and nobody waits for it, else queued with its 1-based Position. It answers ErrNoIdleWorker,
// ErrQueueFull, ErrNoCapacity, ErrTenantLimit, ErrExists or ErrInvalid when it does not.
func (s *Store) Create(ctx context.Context, r CreateRequest) (Session, error) {
	panic("soon")
}
