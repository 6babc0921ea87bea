package stage

import "time"

// Deliver is the way in of results, for those that no actor of this package would send.
func (s *Scheduler) Deliver(key Key, out Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliver(key, out, nil, time.Now())
}

// LeakSlot takes a slot of the session's last edge as a defect would.
func (x *Session) LeakSlot() {
	x.sched.mu.Lock()
	defer x.sched.mu.Unlock()
	x.lanes[0].reserve(0)
}

// LeakCapacity takes a place of the first stage, and of the first group if there is one, as a defect would.
func (s *Scheduler) LeakCapacity() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stages[0].inFlight++
	if len(s.groups) > 0 {
		s.groups[0]++
	}
}

// Remembered is how many results and how many ended sessions the scheduler knows.
func (s *Scheduler) Remembered() (results, epochs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.results.vals), len(s.epochs.vals)
}

// KeysRemembered is the bound of both.
const KeysRemembered = keysRemembered
