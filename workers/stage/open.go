package stage

import (
	"context"
	"fmt"
	"time"
)

// Open starts a session. Its epoch must be above that of every earlier session of the same id. The caller must Close it.
// It may be opened and pushed to before Run, which starts the work.
// It fails with ErrClosed, ErrActorDead, ErrPoisoned, ErrExists, ErrStale or ErrFull.
func (s *Scheduler) Open(id string, epoch int64) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.admit(id, epoch); err != nil {
		return nil, fmt.Errorf("stage: open %q, epoch %d: %w", id, epoch, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	x := &Session{
		sched: s, key: SessionKey{Session: id, Epoch: epoch}, ctx: ctx, cancel: cancel, count: -1, last: -1,
		lanes: make([]lane, len(s.graph.edges)), stations: make([]station, len(s.graph.nodes)), inFlight: map[uint64]*invocation{},
	}
	for i := range x.lanes {
		x.lanes[i] = newLane(s.graph.edges[i].capacity)
	}
	x.facts.openedAt = time.Now()
	s.sessions[id] = x
	s.turns = append(s.turns, x)
	return x, nil
}

func (s *Scheduler) admit(id string, epoch int64) error {
	_, poisoned := s.poisoned[id]
	last, known := s.epochs.get(id)
	switch {
	case s.death != nil:
		return s.death
	case s.started && !s.admits:
		return ErrClosed
	case poisoned:
		return ErrPoisoned
	case len(s.poisoned) >= s.cfg.PoisonedMax:
		return fmt.Errorf("%w: %d sessions were poisoned already", ErrPoisoned, len(s.poisoned))
	case s.sessions[id] != nil && epoch <= s.sessions[id].key.Epoch, known && epoch <= last:
		return ErrStale
	case s.sessions[id] != nil:
		return ErrExists
	case len(s.sessions) >= s.cfg.SessionsMax:
		return ErrFull
	}
	return nil
}

// leaveTurns takes a session out of the turns and keeps everybody else's turn.
func (s *Scheduler) leaveTurns(x *Session) {
	for i, other := range s.turns {
		if other != x {
			continue
		}
		s.turns = append(s.turns[:i:i], s.turns[i+1:]...)
		for j := range s.stages {
			if s.stages[j].turn > i {
				s.stages[j].turn--
			}
		}
		return
	}
}
