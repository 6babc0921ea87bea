package streaming

import (
	"context"
	"sync"
	"time"
)

// ExecutionLease shares one resident model between the sessions that are open on it: only the holder makes chunks, the others keep their state and wait. It
// changes hands at the borders of chunks. Whoever's controller is active comes before whoever's is idle; among equals the first to ask is the first to get it,
// and after a time slice the holder makes room, so nobody holds it for ever.
type ExecutionLease struct {
	slice time.Duration
	now   func() time.Time

	mu     sync.Mutex
	holder *Seat
	// waiting are the seats that want the model, in the order in which they asked.
	waiting []*Seat
}

// NewExecutionLease makes a lease with the longest time that an active session keeps the model while another wants it. now is the clock; nil takes time.Now.
func NewExecutionLease(slice time.Duration, now func() time.Time) *ExecutionLease {
	if now == nil {
		now = time.Now
	}
	return &ExecutionLease{slice: slice, now: now}
}

// Seat is one session's part in a lease. Acquire, Border, Yield and Leave are called by one goroutine, the rest by any.
type Seat struct {
	lease     *ExecutionLease
	idleAfter time.Duration
	granted   chan struct{}

	// Under the lease's lock.
	active time.Time
	since  time.Time
}

// Sit adds a session. idleAfter is how long after its last control it counts as active; 0 means always.
func (l *ExecutionLease) Sit(idleAfter time.Duration) *Seat {
	return &Seat{lease: l, idleAfter: idleAfter, granted: make(chan struct{}, 1), active: l.now()}
}

// Ask wants the model and answers a channel that gets one value when this seat holds it. A holder that asks gets it at once. Call Settle, or Yield, after.
func (s *Seat) Ask() <-chan struct{} {
	l := s.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.holder == s:
		s.granted <- struct{}{}
	case !l.queued(s):
		l.waiting = append(l.waiting, s)
		l.grant()
	}
	return s.granted
}

// Acquire waits until this seat holds the model, or ctx ends.
func (s *Seat) Acquire(ctx context.Context) error {
	select {
	case <-s.Ask():
		return nil
	case <-ctx.Done():
		s.Yield()
		return context.Cause(ctx)
	}
}

// Border says that a chunk is made. The seat loses the model when its time is up and somebody waits for it; it answers whether it did.
func (s *Seat) Border() bool {
	l := s.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder != s || !l.due(s) {
		return false
	}
	l.holder = nil
	l.grant()
	return true
}

// Yield gives the model, or the place in the queue, up: the session ends, or has nothing to make for now.
func (s *Seat) Yield() {
	l := s.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, w := range l.waiting {
		if w == s {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			break
		}
	}
	select { // a grant that nobody took
	case <-s.granted:
	default:
	}
	if l.holder == s {
		l.holder = nil
		l.grant()
	}
}

// Touch says that the session's controller did something.
func (s *Seat) Touch() {
	s.lease.mu.Lock()
	defer s.lease.mu.Unlock()
	s.active = s.lease.now()
}

// Place is the seat's 1-based place among those that wait, 0 when it does not, and whether it waits as an idle one.
func (s *Seat) Place() (position int, parked bool) {
	l := s.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.queued(s) {
		return 0, false
	}
	idle := l.idle(s)
	position = 1
	for _, w := range l.waiting {
		if w == s {
			if !idle {
				return position, false
			}
			continue
		}
		if !l.idle(w) || (idle && before(l.waiting, w, s)) {
			position++
		}
	}
	return position, idle
}

// before says whether a asked before b; both wait.
func before(waiting []*Seat, a, b *Seat) bool {
	for _, w := range waiting {
		if w == a || w == b {
			return w == a
		}
	}
	return false
}

func (l *ExecutionLease) queued(s *Seat) bool {
	for _, w := range l.waiting {
		if w == s {
			return true
		}
	}
	return false
}

func (l *ExecutionLease) idle(s *Seat) bool {
	return s.idleAfter > 0 && l.now().Sub(s.active) >= s.idleAfter
}

// due says whether the holder makes room now: an idle one for anybody active, and after its slice anyone for an equal.
func (l *ExecutionLease) due(s *Seat) bool {
	idle, over := l.idle(s), l.now().Sub(s.since) >= l.slice
	for _, w := range l.waiting {
		if active := !l.idle(w); active && (idle || over) || !active && idle && over {
			return true
		}
	}
	return false
}

// grant gives a free model to the first active seat that waits, else to the first.
func (l *ExecutionLease) grant() {
	if l.holder != nil || len(l.waiting) == 0 {
		return
	}
	next := 0
	for i, w := range l.waiting {
		if !l.idle(w) {
			next = i
			break
		}
	}
	s := l.waiting[next]
	l.waiting = append(l.waiting[:next:next], l.waiting[next+1:]...)
	l.holder, s.since = s, l.now()
	s.granted <- struct{}{}
}
