package streaming

import (
	"context"
	"time"
)

// The bounds of one round of the reaper.
const (
	reapMax          = 100
	roomRetryAfter   = 10 * time.Second
	roomCloseTimeout = 5 * time.Second
	roundTimeout     = 5 * time.Second
)

// deadlines are the zsets of sessions by a deadline, and why a session ends at it.
var deadlines = []struct{ kind, reason string }{
	{"session", ReasonSessionTimeout},
	{"controller", ReasonControllerAbsent},
	{"room", ReasonRoomEmpty},
	{"control", ReasonControlIdle},
	{"queue", ReasonQueueTimeout},
	{"reassign", ReasonWorkerLost},
}

// Run ends what has timed out, re-assigns what lost its owner and closes the rooms of ended sessions, until ctx ends. Any number of processes may run it; each
// step is one script, so none is done twice. rooms may be nil, where another process closes them.
func (s *Store) Run(ctx context.Context, rooms Rooms) error {
	ticker := time.NewTicker(s.cfg.ReapEvery)
	defer ticker.Stop()
	silent, quietUntil := true, time.Time{}
	for ctx.Err() == nil {
		if silent {
			// Leases that ran out while Redis was away say nothing about their owners: each gets the time to renew.
			quietUntil = time.Now().Add(s.cfg.LeaseTTL)
		}
		err := s.round(ctx, !silent && time.Now().After(quietUntil), rooms)
		if err != nil && ctx.Err() == nil {
			s.metrics.reapErrors.Inc()
			if !silent {
				s.log.WarnContext(ctx, "reaper round failed", "error", err)
			}
		}
		silent = err != nil
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return nil
}

// round does each of the reaper's steps once.
func (s *Store) round(ctx context.Context, trustClocks bool, rooms Rooms) error {
	timed, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	if trustClocks {
		if err := s.reapLeases(timed); err != nil {
			return err
		}
		for _, d := range deadlines {
			if err := s.reapDeadline(timed, d.kind, d.reason); err != nil {
				return err
			}
		}
	}
	if _, err := s.eval(timed, "forget", reapMax); err != nil {
		return err
	}
	if rooms == nil {
		return nil
	}
	return s.closeRooms(ctx, rooms)
}

func (s *Store) reapLeases(ctx context.Context) error {
	e := endings[ReasonWorkerLost]
	// Whoever watches has waited for the lease to run out, and for this round; the end will need another.
	left := max(s.cfg.ReassignTimeout-s.cfg.LeaseTTL-3*s.cfg.ReapEvery, s.cfg.ReapEvery)
	list, err := s.evalList(ctx, "reap", reapMax, s.cfg.DeathsMax, ms(s.cfg.RetentionTTL), 0, ms(left), ms(s.cfg.QueueTimeout),
		ReasonWorkerLost, e.message)
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(list); i += 2 {
		s.log.WarnContext(ctx, "session lost its worker", "session", word(list, i), "then", word(list, i+1))
		if word(list, i+1) == "queued" {
			s.metrics.migrations.Inc()
		} else {
			s.metrics.finished.WithLabelValues(ReasonWorkerLost).Inc()
		}
	}
	return nil
}

func (s *Store) reapDeadline(ctx context.Context, kind, reason string) error {
	e := endings[reason]
	list, err := s.evalList(ctx, "time_out", kind, string(e.status), reason, e.message, reapMax, ms(s.cfg.RetentionTTL), ms(roomGrace))
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(list); i += 2 {
		s.log.InfoContext(ctx, "session ended", "session", word(list, i), "reason", word(list, i+1))
		s.metrics.finished.WithLabelValues(word(list, i+1)).Inc()
	}
	return nil
}

// closeRooms closes the rooms of ended sessions; one that does not close is tried again later.
func (s *Store) closeRooms(ctx context.Context, rooms Rooms) error {
	list, err := s.evalList(ctx, "rooms", reapMax, ms(roomRetryAfter))
	if err != nil {
		return err
	}
	for i := range list {
		if err := s.closeRoom(ctx, rooms, word(list, i)); err != nil {
			s.log.WarnContext(ctx, "room not closed", "error", err)
		}
	}
	return nil
}

// closeRoom closes one room and forgets it.
func (s *Store) closeRoom(ctx context.Context, rooms Rooms, room string) error {
	ctx, cancel := context.WithTimeout(ctx, roomCloseTimeout)
	defer cancel()
	if err := rooms.Delete(ctx, room); err != nil {
		return err
	}
	_, err := s.eval(ctx, "unroom", room)
	return err
}
