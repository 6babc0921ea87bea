package stage

import (
	"context"
	"time"
)

type phase uint8

const (
	phaseOpen phase = iota
	phaseDraining
	phaseReleasing
	phaseEnded
)

// Session is one term of one session. Its methods may be called from several goroutines. All fields are the scheduler's, under its lock.
type Session struct {
	sched  *Scheduler
	key    SessionKey
	ctx    context.Context //nolint:containedctx // the session's own life, which every invocation runs in
	cancel context.CancelCauseFunc

	phase    phase
	failure  error // why it stopped
	poisoned bool
	cleanErr error // what clean-up could not do
	dropped  bool  // outputs that wait are gone

	lanes    []lane    // per edge
	stations []station // per stage
	inFlight map[uint64]*invocation

	count   int64 // sequences in all, -1 while unknown
	last    int64 // highest sequence pushed, -1 for none
	emitted int64 // sequences that are ready for Next, or were
	taken   int64 // sequences that Next has given

	releaseAt int // the stage that is being released
	deadline  time.Time

	wake  chan struct{} // closed at the next change; nil when nobody waits
	facts facts
}

// station is one stage's place in one session.
type station struct {
	next    int64 // the frontier of a strict stage
	running int
	touched bool // the stage has worked, so it may keep state
	idle    idle
}

// invocation is one piece of work in flight.
type invocation struct {
	Invocation
	session *Session
	node    int
	begun   bool // the actor's, until it is delivered
	fact    InvocationFact
}

// Key is the session's name and epoch.
func (x *Session) Key() SessionKey { return x.key }

// waiting gives the channel that the next change closes. The lock is held.
func (x *Session) waiting() <-chan struct{} {
	if x.wake == nil {
		x.wake = make(chan struct{})
	}
	return x.wake
}

// changed wakes all who wait. The lock is held.
func (x *Session) changed() {
	if x.wake != nil {
		close(x.wake)
		x.wake = nil
	}
}

// slotsTaken counts what the session holds, outputs that only wait for Next left out. After clean-up it must be 0.
func (x *Session) slotsTaken() int {
	n := len(x.inFlight)
	for i := range x.lanes {
		n += x.lanes[i].taken()
	}
	return n - len(x.sched.graph.sinks)*int(x.emitted-x.taken)
}
