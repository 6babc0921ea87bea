package stage

import (
	"fmt"
	"time"
)

// finished is an actor's word that an invocation is over. The actor's capacity is free in any case; whether the result still counts is
// deliver's to say.
func (s *Scheduler) finished(inv *invocation, out Values, err error, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(inv, out, err, at)
	s.pump(time.Now())
}

func (s *Scheduler) finish(inv *invocation, out Values, err error, at time.Time) {
	s.stages[inv.node].inFlight--
	if g := s.graph.nodes[inv.node].group; g >= 0 {
		s.groups[g]--
	}
	s.deliver(inv.Key, out, err, at)
}

// deliver takes the result of one key once, and drops and counts everything else.
func (s *Scheduler) deliver(key Key, out Values, err error, at time.Time) {
	if _, twice := s.results.get(key); twice {
		s.diag.DuplicateResults++
		return
	}
	x := s.sessions[key.Session]
	if s.stale(x, key) {
		s.diag.StaleEpochResults++
		return
	}
	if x == nil || x.inFlight[key.ID] == nil || x.inFlight[key.ID].Key != key {
		s.diag.OrphanedResults++
		return
	}
	s.results.put(key, struct{}{})
	if x.poisoned {
		s.diag.OrphanedResults++
	}
	inv, now := x.inFlight[key.ID], time.Now() // all moments but at are the lock's, so that none is before an earlier one
	delete(x.inFlight, key.ID)
	x.facts.completed(inv.fact, at)
	station := &x.stations[inv.node]
	station.touched = station.touched || inv.begun
	if station.running--; station.running == 0 {
		station.idle.begin(at)
	}
	if err == nil {
		err = s.fill(x, inv, out, now)
	}
	if err != nil || x.phase != phaseOpen {
		x.unreserve(inv)
	}
	if err != nil && x.phase == phaseOpen {
		s.stop(x, &StageError{Key: key, Err: err}, now)
	}
	s.advance(x, now)
}

// stale says whether a later epoch of the key's session is or was there.
func (s *Scheduler) stale(x *Session, key Key) bool {
	if x != nil {
		return key.Epoch < x.key.Epoch
	}
	last, known := s.epochs.get(key.Session)
	return known && key.Epoch < last
}

// fill puts the outputs into the slots that were reserved for them: all that the stage produces and nothing else.
func (s *Scheduler) fill(x *Session, inv *invocation, out Values, now time.Time) error {
	if x.phase != phaseOpen {
		return nil
	}
	n := &s.graph.nodes[inv.node]
	if len(out) != len(n.Produces) {
		return &ArtifactError{Artifact: n.ID, Fault: fmt.Sprintf("the stage gave %d artifacts and not %d", len(out), len(n.Produces))}
	}
	for _, p := range n.Produces {
		if out.index(p) < 0 {
			return &ArtifactError{Artifact: p.Name(), Fault: "missing in what the stage gave, or of another type"}
		}
	}
	for k, p := range n.Produces {
		for _, e := range n.out[k] {
			x.lanes[e].fill(inv.Sequence, out[out.index(p)].v, now)
		}
	}
	x.emit(now)
	return nil
}

// unreserve gives back the slots of outputs that will not come.
func (x *Session) unreserve(inv *invocation) {
	for _, edges := range x.sched.graph.nodes[inv.node].out {
		for _, e := range edges {
			if l := &x.lanes[e]; l.slot(inv.Sequence).state == slotReserved {
				l.drop(inv.Sequence)
			}
		}
	}
}

func (v Values) index(p Port) int {
	for i := range v {
		if v[i].port == p {
			return i
		}
	}
	return -1
}
