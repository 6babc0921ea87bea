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

// within logs what something took, and fails the test when that is longer than the bar.
func within(t *testing.T, what string, took, bar time.Duration) {
	t.Helper()
	t.Logf("measured: %s after %s", what, took.Round(10*time.Millisecond))
	if took > bar {
		t.Errorf("%s after %s, allowed are %s", what, took, bar)
	}
}
