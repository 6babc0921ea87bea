package stage

import (
	"errors"
	"fmt"
	"time"
)

// stop ends a session's work, for whatever cause, and begins its clean-up. Outputs that are complete stay for Next. The lock is held.
func (s *Scheduler) stop(x *Session, cause error, now time.Time) {
	if x.phase != phaseOpen {
		return
	}
	x.phase, x.failure = phaseDraining, cause
	x.cancel(cause)
	s.leaveTurns(x)
	for i := range x.lanes {
		from := int64(0)
		if s.graph.edges[i].target < 0 {
			from = x.emitted
		}
		x.lanes[i].dropFull(from)
	}
	s.setDeadline(x, now)
	s.advance(x, now)
	x.changed()
}

// advance takes a stopped session through its clean-up as far as it goes now: first its invocations end, then each stage that has worked for
// it releases its state, the last stage first, one after the other.
func (s *Scheduler) advance(x *Session, now time.Time) {
	if x.phase == phaseDraining && len(x.inFlight) == 0 {
		x.phase, x.releaseAt = phaseReleasing, len(x.stations)
		s.releaseNext(x, now)
	}
}

// releaseNext asks the next stage that keeps something, or ends the session.
func (s *Scheduler) releaseNext(x *Session, now time.Time) {
	for x.releaseAt--; x.releaseAt >= 0; x.releaseAt-- {
		i := x.releaseAt
		switch {
		case !x.stations[i].touched || s.graph.nodes[i].Release == nil:
		case s.stages[i].ended:
			x.unclean(fmt.Errorf("stage: release %s: %w", s.graph.nodes[i].ID, ErrActorDead))
		default:
			s.stages[i].releases = append(s.stages[i].releases, x)
			s.setDeadline(x, now)
			s.pumpReleases(i)
			return
		}
	}
	s.end(x)
}

// released is an actor's word that a release is over.
func (s *Scheduler) released(x *Session, i int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseDone(x, i, err)
	s.pump(time.Now())
}

func (s *Scheduler) releaseDone(x *Session, i int, err error) {
	if err != nil {
		x.unclean(fmt.Errorf("stage: release %s: %w", s.graph.nodes[i].ID, err))
	}
	s.releaseNext(x, time.Now())
}

func (x *Session) unclean(err error) { x.cleanErr = errors.Join(x.cleanErr, err) }

// end checks that nothing is left and forgets the session but for its epoch.
func (s *Scheduler) end(x *Session) {
	x.phase = phaseEnded
	if leaks := x.slotsTaken(); leaks > 0 && !x.poisoned {
		s.diag.SlotLeaks += int64(leaks)
		x.unclean(fmt.Errorf("%w: %d", ErrSlotLeak, leaks))
	}
	if x.cleanErr != nil {
		s.poison(x)
	}
	delete(s.sessions, x.key.Session)
	s.epochs.put(x.key.Session, x.key.Epoch)
	x.changed()
	wakeUp(s.gone)
}

// poison bars the session's name for good.
func (s *Scheduler) poison(x *Session) {
	if x.poisoned {
		return
	}
	x.poisoned = true
	s.diag.CleanupFailures++
	s.poisoned[x.key.Session] = struct{}{}
	x.changed()
	wakeUp(s.gone)
}

// actorEnded fails everything when an actor ended by itself, and the tasks that it will not do in any case.
func (s *Scheduler) actorEnded(a *actor, current task, death error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, load := time.Now(), &s.stages[a.index]
	load.ended = true
	a.health.Store(int32(HealthClosed))
	if death != nil {
		a.health.Store(int32(HealthFailed))
		death = fmt.Errorf("%w: %s: %w", ErrActorDead, a.stage.ID, death)
		if s.death == nil {
			s.death = death
		}
		s.admits = false
		wakeUp(s.died)
		for _, x := range s.all() {
			s.stop(x, death, now)
		}
	}
	s.abandon(a, current, death, now)
}

// abandon answers for the tasks of an actor that is gone.
func (s *Scheduler) abandon(a *actor, current task, death error, now time.Time) {
	left := []task{current}
	for len(a.mailbox) > 0 {
		left = append(left, <-a.mailbox)
	}
	for _, x := range s.stages[a.index].releases {
		left = append(left, task{release: x})
	}
	s.stages[a.index].releases = nil
	for _, t := range left {
		switch {
		case t.invocation != nil:
			s.finish(t.invocation, nil, death, now)
		case t.release != nil:
			s.releaseDone(t.release, a.index, orDead(death))
		}
	}
	s.pump(now)
}

// orDead is for a release that came too late for an actor which ended as asked.
func orDead(death error) error {
	if death == nil {
		return ErrActorDead
	}
	return death
}
