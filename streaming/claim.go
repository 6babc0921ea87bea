package streaming

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// claim is one epoch of one session, held by one worker. Every write of it is fenced: ErrStale says that the session is somebody else's, or nobody's.
type claim struct {
	store  *Store
	worker string
	// session is the record as it was when the epoch began.
	session Session
	// waited is how long the session waited for this claim.
	waited time.Duration
}

// claim takes the session that waits for a worker. It answers nil when there is none.
func (s *Store) claim(ctx context.Context, worker, pipeline string) (*claim, error) {
	list, err := s.evalList(ctx, "claim", worker, pipeline, ms(s.cfg.LeaseTTL), ms(s.cfg.ControllerTimeout))
	if err != nil || word(list, 0) != "claimed" {
		return nil, err
	}
	session, err := decode(word(list, 1), sublist(list, 2))
	if err != nil {
		return nil, err
	}
	if session.Epoch == 1 {
		s.metrics.queueWait.Observe(session.StartedAt.Sub(session.CreatedAt).Seconds())
	}
	return &claim{store: s, worker: worker, session: session, waited: time.Duration(number(list, 3)) * time.Millisecond}, nil
}

// note is what the owner knows of its session; zero fields change nothing.
type note struct {
	status  Status
	facts   *Facts
	state   []byte
	outcome string
	// first says that a frame was shown, active that the controller sent something.
	first, active bool
	presence      *presence
}

// presence is who is in the room; clients below 0 says that it is not known.
type presence struct {
	clients    int
	controller bool
	// forgotten says that the room was lost with everybody in it, and that nobody has come back yet.
	forgotten bool
}

// emptyTimeout is how long the room may be empty.
func (p *presence) emptyTimeout(c Config) time.Duration {
	if p != nil && p.forgotten {
		return min(c.ReturnTimeout, c.RoomEmptyTimeout)
	}
	return c.RoomEmptyTimeout
}

// arguments are the presence as the script takes it: participants, controller, room.
func (p *presence) arguments() (participants, controller, room string) {
	switch {
	case p == nil:
		return "", "", ""
	case p.clients < 0:
		return "-", "unknown", "unknown"
	}
	controller, room = "absent", "joined"
	if p.controller {
		controller = "present"
	}
	if p.clients == 0 {
		room = "empty"
	}
	return strconv.Itoa(p.clients), controller, room
}

// write notes n in the record.
func (c *claim) write(ctx context.Context, n note) error {
	facts, err := encodeFacts(n.facts)
	if err != nil {
		return fmt.Errorf("streaming: note %s: %w", c.session.ID, err)
	}
	participants, controller, room := n.presence.arguments()
	cfg := c.store.cfg
	list, err := c.store.evalList(ctx, "note", c.session.ID, c.session.Epoch, c.worker, string(n.status), participants, facts, n.state, flag(n.first),
		controller, room, flag(n.active), n.outcome, ms(cfg.ControllerTimeout), ms(n.presence.emptyTimeout(cfg)))
	if err != nil {
		return err
	}
	if word(list, 0) == "stale" {
		return c.stale("note", word(list, 1), word(list, 2))
	}
	return nil
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return ""
}

// staleError says that a session is not its epoch's any more, and what it is instead.
type staleError struct {
	op, id string
	epoch  int
	// status and reason are the record's; empty when there is none.
	status Status
	reason string
}

func (e *staleError) Error() string {
	return fmt.Sprintf("streaming: %s %s epoch %d: %v (now %q)", e.op, e.id, e.epoch, ErrStale, e.status)
}

func (e *staleError) Unwrap() error { return ErrStale }

func (c *claim) stale(op, status, reason string) error {
	c.store.metrics.stale.WithLabelValues(op).Inc()
	return &staleError{op: op, id: c.session.ID, epoch: c.session.Epoch, status: Status(status), reason: reason}
}

// close ends the session, with its last facts. On a session that was ended for its owner it only adds the facts.
func (c *claim) close(ctx context.Context, reason, message string, facts Facts, outcome string) error {
	e := endings[reason]
	if message == "" {
		message = e.message
	}
	text, err := encodeFacts(&facts)
	if err != nil {
		return fmt.Errorf("streaming: close %s: %w", c.session.ID, err)
	}
	answer, err := c.store.evalWord(ctx, "close", c.session.ID, c.session.Epoch, c.worker, string(e.status), reason, message, text, outcome,
		ms(c.store.cfg.RetentionTTL), ms(roomGrace))
	if err != nil {
		return err
	}
	switch answer {
	case "stale":
		return c.stale("close", "", "")
	case "closed":
		c.store.metrics.finished.WithLabelValues(reason).Inc()
	}
	return nil
}

// handOver gives the session to another owner, or ends it with the reason when nobody could go on. charge counts it as a death. It answers whether it waits.
func (c *claim) handOver(ctx context.Context, state []byte, facts Facts, charge bool, reason string) (bool, error) {
	text, err := encodeFacts(&facts)
	if err != nil {
		return false, fmt.Errorf("streaming: hand over %s: %w", c.session.ID, err)
	}
	deaths, cfg := 0, c.store.cfg
	if charge {
		deaths = 1
	}
	answer, err := c.store.evalWord(ctx, "hand_over", c.session.ID, c.session.Epoch, c.worker, state, text, deaths, cfg.DeathsMax, ms(cfg.ReassignTimeout),
		ms(cfg.RetentionTTL), ms(roomGrace), reason, endings[reason].message)
	switch {
	case err != nil:
		return false, err
	case answer == "stale":
		return false, c.stale("hand over", "", "")
	case answer == "queued":
		c.store.metrics.migrations.Inc()
		return true, nil
	}
	c.store.metrics.finished.WithLabelValues(reason).Inc()
	return false, nil
}

// release frees the slot. Call it when nothing of the session is on the device any more.
func (c *claim) release(ctx context.Context) error {
	_, err := c.store.eval(ctx, "release", c.worker, c.session.Spec.Pipeline, c.session.ID, c.session.Epoch)
	return err
}
