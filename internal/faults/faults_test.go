package faults_test

import "testing"

// fault is one way to break the bench, with what must follow. Its name begins with its number in docs/reliability.md.
type fault struct {
	name string
	// extent is the least extent of a run in which it strikes.
	extent string
	strike func(t *testing.T, b *bench)
}

// TestFaults breaks processes of ours, jobs and the queue.
func TestFaults(t *testing.T) {
	strikeAll(t, apiFaults(), workerFaults(), engineFaults(), queueFaults(), cancelFaults())
}

// TestFaultsOfServers breaks what the service stands on, and the cables to it.
func TestFaultsOfServers(t *testing.T) {
	strikeAll(t, redisFaults(), storeFaults(), linkFaults())
}

// strikeAll breaks one bench in one way after the other. After each fault every invariant is looked at.
func strikeAll(t *testing.T, lists ...[]fault) {
	t.Helper()
	t.Parallel()
	b := startBench(t, options{workerArgs: []string{"--stall-timeout", "12s"}})
	var all []fault
	for _, some := range lists {
		all = append(all, some...)
	}
	struck := 0
	for _, f := range all {
		if !atLeast(f.extent) {
			continue
		}
		struck++
		t.Run(f.name, func(t *testing.T) {
			b.work(t)
			f.strike(t, b)
			b.check()
		})
		b.t = t
	}
	// What dead workers held of the queue is gone in the end, and no process but those that were killed has ended.
	if atLeast(extentFull) {
		b.work(t)
		for _, p := range b.problems(true) {
			t.Error(p)
		}
	}
	t.Logf("%d faults struck", struck)
}
