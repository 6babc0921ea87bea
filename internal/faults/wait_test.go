package faults_test

import (
	"testing"
	"time"
)

// waitEvery is the pause between two looks at a condition.
const waitEvery = 20 * time.Millisecond

// holdsWithin says whether a condition comes to hold within the time.
func holdsWithin(within time.Duration, holds func() bool) bool {
	deadline := time.After(within)
	tick := time.NewTicker(waitEvery)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			return false
		case <-tick.C:
		}
	}
	return true
}

// waitFor ends the test when a condition does not come to hold within the time.
func waitFor(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	if !holdsWithin(within, holds) {
		t.Fatalf("waited %s in vain for %s", within, what)
	}
}

// pause lets real time pass where that is the fault itself.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// wideFactor and wideAtLeast say how far behind its goal a time may be before the test fails: the processors are not the bench's alone. What is broken does not come at all.
const (
	wideFactor  = 5
	wideAtLeast = 45 * time.Second
)

// within logs what something took beside its goal. It fails the test when that is far behind, and with -bars already when it is behind.
func within(t *testing.T, what string, took, goal time.Duration) {
	t.Helper()
	t.Logf("measured: %s after %s, goal %s", what, took.Round(10*time.Millisecond), goal)
	bar := max(wideFactor*goal, wideAtLeast)
	if *bars {
		bar = goal
	}
	if took > bar {
		t.Errorf("%s after %s, allowed are %s", what, took, bar)
	}
}
