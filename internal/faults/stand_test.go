package faults_test

import (
	"sync"
	"testing"
)

// stand lends benches of one kind to sub-tests that run side by side. Each bench is one test's at a time, and is used by many one after the other.
type stand struct {
	owner *testing.T
	opts  options

	mu   sync.Mutex
	free []*bench
}

// newStand makes a stand without a bench: the first who need one start it.
func newStand(owner *testing.T, o options) *stand { return &stand{owner: owner, opts: o} }

// lend hands a whole bench to a sub-test, until its end. A bench on which a test failed is not lent again: it would fail others for what they have not done.
func (s *stand) lend(t *testing.T) *bench {
	t.Helper()
	b := s.take()
	if b == nil {
		b = startBenchFor(t, s.owner, s.opts)
		s.owner.Cleanup(func() { b.lookDeep(s.owner) })
	}
	t.Cleanup(func() {
		b.t = s.owner
		if t.Failed() {
			b.failed = true
			b.showLogs(t)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, b)
	})
	b.work(t)
	return b
}

// take answers a bench that nobody uses, nil where there is none.
func (s *stand) take() *bench {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil
	}
	b := s.free[0]
	s.free = s.free[1:]
	return b
}

// lookDeep is the last look at a bench: what dead workers held of the queue is gone in the end, and no process has more of anything than it had in the beginning.
func (b *bench) lookDeep(t *testing.T) {
	t.Helper()
	if !atLeast(extentFull) || b.failed {
		return
	}
	b.work(t)
	for _, p := range b.problems(true) {
		t.Error(p)
	}
	b.showLogsOfFailed(t)
}

// showLogsOfFailed shows what every process wrote where the test has failed.
func (b *bench) showLogsOfFailed(t *testing.T) {
	t.Helper()
	if t.Failed() {
		b.showLogs(t)
	}
}

// showLogs shows what every process wrote at last.
func (b *bench) showLogs(t *testing.T) {
	t.Helper()
	for _, n := range b.nodes() {
		t.Logf("%s wrote at last:\n%s", n.name, n.log.remarkable(3000))
	}
}
