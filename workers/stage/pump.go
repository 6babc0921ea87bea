package stage

import "time"

// pump starts everything that can start. It goes from the last stage to the first: a start frees the slots that the stages before it wait
// for, so that one round finds all. The lock is held.
func (s *Scheduler) pump(now time.Time) {
	if !s.started {
		return
	}
	for i := len(s.stages) - 1; i >= 0; i-- {
		s.pumpReleases(i)
		for s.pumpStage(i, now) {
		}
	}
}

// pumpReleases goes first: a release frees memory, and never waits for an invocation that has not begun.
func (s *Scheduler) pumpReleases(i int) {
	load := &s.stages[i]
	for len(load.releases) > 0 && !s.actors[i].busy() && !load.ended {
		s.actors[i].mailbox <- task{release: load.releases[0]}
		load.releases = load.releases[1:]
	}
}

// pumpStage asks each session once, beginning with the one whose turn it is, and says whether any could start.
func (s *Scheduler) pumpStage(i int, now time.Time) bool {
	any, first := false, s.stages[i].turn
	for k := range s.turns {
		at := (first + k) % len(s.turns)
		x := s.turns[at]
		seq, why := s.ready(x, i)
		if why != "" {
			over, was := x.stations[i].idle.blocked(why, now)
			x.facts.idled(s.graph.nodes[i].ID, over, was)
			continue
		}
		s.start(x, i, seq, now)
		s.stages[i].turn = (at + 1) % len(s.turns)
		any = true
	}
	return any
}

// ready finds the next sequence of a stage, or the reason that it cannot start now.
func (s *Scheduler) ready(x *Session, i int) (int64, Reason) {
	n := &s.graph.nodes[i]
	if x.stations[i].running >= n.InFlightPerSession {
		return 0, reasonWorking
	}
	seq, why := x.candidate(i)
	switch {
	case why != "":
		return 0, why
	case s.stages[i].ended || s.stages[i].inFlight >= n.InFlightGlobal:
		return 0, ReasonStageCapacity
	case n.group >= 0 && s.groups[n.group] >= s.graph.groups[n.group].MaxConcurrency:
		return 0, ReasonResourceGroup
	}
	for _, edges := range n.out {
		for _, e := range edges {
			if !x.lanes[e].room(seq) {
				return 0, ReasonEdgeCapacity
			}
		}
	}
	if s.actors[i].busy() { // with releases: invocations alone never fill it
		return 0, ReasonSchedulerAdmission
	}
	return seq, ""
}

// candidate is the sequence that the stage would take next in this session, if its inputs are there.
func (x *Session) candidate(i int) (int64, Reason) {
	n, next := &x.sched.graph.nodes[i], x.stations[i].next
	if n.Ordering == Unordered {
		first := &x.lanes[n.in[0]]
		for seq := first.base; seq < first.base+int64(len(first.slots)); seq++ {
			if x.complete(n, seq) {
				return seq, ""
			}
		}
		next = first.base
	}
	if x.count >= 0 && next >= x.count {
		return 0, reasonDone
	}
	if x.complete(n, next) {
		return next, ""
	}
	return 0, x.missing(n, next)
}

func (x *Session) complete(n *node, seq int64) bool {
	for _, e := range n.in {
		if !x.lanes[e].full(seq) {
			return false
		}
	}
	return true
}

// start takes the inputs, reserves the outputs and hands the invocation to the actor.
func (s *Scheduler) start(x *Session, i int, seq int64, now time.Time) {
	n, at := &s.graph.nodes[i], &x.stations[i]
	s.nextID++
	inv := &invocation{session: x, node: i, Invocation: Invocation{
		Key:    Key{SessionKey: x.key, Sequence: seq, Stage: n.ID, ID: s.nextID},
		Final:  seq == x.count-1,
		Inputs: make(Values, len(n.in)),
	}}
	inv.fact = InvocationFact{Stage: n.ID, Sequence: seq, AdmittedAt: now}
	for k, e := range n.in {
		taken := x.lanes[e].take(seq)
		inv.Inputs[k] = Value{port: n.Consumes[k], v: taken.value}
		if taken.at.After(inv.fact.InputsReadyAt) {
			inv.fact.InputsReadyAt = taken.at
		}
	}
	for _, edges := range n.out {
		for _, e := range edges {
			x.lanes[e].reserve(seq)
		}
	}
	if at.running == 0 {
		over, was := at.idle.end(now)
		x.facts.idled(n.ID, over, was)
	}
	at.running++
	at.next = seq + 1
	s.stages[i].inFlight++
	if n.group >= 0 {
		s.groups[n.group]++
	}
	x.inFlight[inv.ID] = inv
	x.facts.admitted(seq, now)
	s.actors[i].mailbox <- task{invocation: inv}
	x.changed() // ingress slots are free
}
