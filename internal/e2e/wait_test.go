package e2e_test

import (
	"testing"
	"time"
)

// waitEvery is the pause between two looks at a condition.
const waitEvery = 20 * time.Millisecond

// waitFor looks at a condition until it holds, and ends the test when it does not within the time.
func waitFor(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	if !holdsWithin(within, holds) {
		t.Fatalf("waited %s in vain for %s", within, what)
	}
}

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

// pause lets an amount of real time pass where nothing can be waited for: that something does not happen.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}
