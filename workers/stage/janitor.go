package stage

import (
	"fmt"
	"time"
)

// sweep gives sessions up whose drain timeout has passed, until quit. While none is closing it sleeps.
func (s *Scheduler) sweep(quit <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-quit:
			return
		case <-s.deadlines:
		case <-timer.C:
		}
		timer.Stop()
		if wait, closing := s.expire(time.Now()); closing {
			timer.Reset(wait)
		}
	}
}

// expire gives up what is over its time and answers when it has to be asked again, if it has.
func (s *Scheduler) expire(now time.Time) (wait time.Duration, closing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.all() {
		if x.phase == phaseOpen || x.poisoned {
			continue
		}
		left := x.deadline.Sub(now)
		if left <= 0 {
			s.giveUp(x)
			continue
		}
		if !closing || left < wait {
			wait, closing = left, true
		}
	}
	return wait, closing
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
