package stage

import (
	"fmt"
	"time"
)

// sweep gives sessions up whose drain timeout has passed, until quit.
func (s *Scheduler) sweep(quit <-chan struct{}) {
	timer := time.NewTimer(s.cfg.DrainTimeout)
	defer timer.Stop()
	for {
		select {
		case <-quit:
			return
		case <-s.deadlines:
		case <-timer.C:
		}
		timer.Reset(s.expire(time.Now()))
	}
}

// expire gives up what is over its time and answers how long nothing else will be.
func (s *Scheduler) expire(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := s.cfg.DrainTimeout
	for _, x := range s.all() {
		if x.phase == phaseOpen || x.poisoned {
			continue
		}
		left := x.deadline.Sub(now)
		if left > 0 {
			wait = min(wait, left)
			continue
		}
		s.giveUp(x)
	}
	return wait
}

// giveUp stops waiting for a session. It stays with the scheduler until its last task ends, so that capacity comes back and results that
// are too late are known as such, but nobody can use it or its name again.
func (s *Scheduler) giveUp(x *Session) {
	leaks := x.slotsTaken()
	s.diag.SlotLeaks += int64(leaks)
	x.unclean(fmt.Errorf("%w of %v, %d slots taken", ErrDrain, s.cfg.DrainTimeout, leaks))
	s.poison(x)
}

func (s *Scheduler) setDeadline(x *Session, now time.Time) {
	x.deadline = now.Add(s.cfg.DrainTimeout)
	wakeUp(s.deadlines)
}
