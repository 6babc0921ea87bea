package streaming

import "context"

// The doors that tests need: single steps of the registry and of an owner.

// Heartbeat sends a heartbeat of a worker that runs the given epochs, and answers the ids that are not its own.
func (s *Store) Heartbeat(ctx context.Context, w Worker, runs ...*Claim) ([]string, error) {
	keys := make([]held, len(runs))
	for i, r := range runs {
		keys[i] = held{r.c.session.ID, r.c.session.Epoch}
	}
	gone, err := s.heartbeat(ctx, w, keys)
	ids := make([]string, len(gone))
	for i, g := range gone {
		ids[i] = g.id
	}
	return ids, err
}

// Claim is one epoch, driven by hand.
type Claim struct{ c *claim }

// Claim claims for a worker; nil when there is nothing to claim.
func (s *Store) Claim(ctx context.Context, worker string) (*Claim, error) {
	c, err := s.claim(ctx, worker, "terrain")
	if c == nil {
		return nil, err
	}
	return &Claim{c}, err
}

func (c *Claim) Session() Session { return c.c.session }

// Note writes a status, a state and whether a frame was shown.
func (c *Claim) Note(ctx context.Context, status Status, state []byte, first bool) error {
	return c.c.write(ctx, note{status: status, state: state, first: first, facts: &Facts{Chunks: 1}})
}

// See writes who is in the room, and whether the controller sent something.
func (c *Claim) See(ctx context.Context, clients int, controller, active bool) error {
	return c.c.write(ctx, note{presence: &presence{clients: clients, controller: controller}, active: active})
}

func (c *Claim) Close(ctx context.Context, reason string) error {
	return c.c.close(ctx, reason, "", Facts{}, "")
}

func (c *Claim) HandOver(ctx context.Context, state []byte) (bool, error) {
	return c.c.handOver(ctx, state, Facts{}, true, ReasonWorkerLost)
}

func (c *Claim) Release(ctx context.Context) error { return c.c.release(ctx) }

// Leave takes a worker out of the registry.
func (s *Store) Leave(ctx context.Context, worker string) error { return s.leave(ctx, worker) }

// Reap does what one round of the reaper does, without regard to silence.
func (s *Store) Reap(ctx context.Context, rooms Rooms) error { return s.round(ctx, true, rooms) }
