package faults_test

import "testing"

// fault is one way to break the bench, with what must follow. Its name begins with its number in docs/reliability.md.
type fault struct {
	name string
	// extent is the least extent of a run in which it strikes.
	extent string
	strike func(t *testing.T, b *bench)
}

// faults are all that break one bench: processes of ours, jobs and the queue, what the service stands on, and the cables to it. Those that take longest come first.
func faults() []fault {
	var all []fault
	for _, some := range [][]fault{redisFaults(), storeFaults(), apiFaults(), workerFaults(), engineFaults(), queueFaults(), cancelFaults(), linkFaults()} {
		all = append(all, some...)
	}
	return all
}

// TestFaults breaks benches in one way after the other, several of them side by side. After each fault every invariant is looked
// at, and its counters have moved.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := newStand(t, options{workerArgs: []string{"--stall-timeout", "12s"}})
	for _, f := range faults() {
		if !atLeast(f.extent) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			b := s.lend(t)
			moves := b.counting(countersOf(t, f.name))
			f.strike(t, b)
			moves.look()
			b.check()
		})
	}
}
