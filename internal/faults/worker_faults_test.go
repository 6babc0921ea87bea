package faults_test

import (
	"testing"
	"time"
)

// restartMax is the longest time from the death of a worker to the next attempt at its job.
const restartMax = 20 * time.Second

func workerFaults() []fault {
	faults := []fault{
		{"F33 an old worker finishes after its job was given to another", extentShort, frozenWorker},
		{"F35 a worker is stopped and has no time", extentFull, workerWithoutGrace},
	}
	for _, p := range []struct {
		point    string
		attempts int
		extent   string
	}{
		{"claimed", 2, extentFull}, {"half", 2, extentShort}, {"encoding", 2, extentFull}, {"uploading", 2, extentFull},
		{"before_commit", 2, extentFull}, {"after_commit", 1, extentFull},
	} {
		faults = append(faults, fault{"F05 a worker is killed at " + p.point, p.extent, workerDiesAt(p.point, p.attempts)})
	}
	return faults
}

// workerDiesAt ends the only worker at a point of its attempt, as hard as the kernel can.
func workerDiesAt(point string, attempts int) func(*testing.T, *bench) {
	return func(t *testing.T, b *bench) {
		victim, heir := b.workers[0], b.workers[1]
		if _, err := heir.stop(); err != nil {
			t.Fatal(err)
		}
		b.restart(victim, "--die-at", point)
		s := b.create(script(b.canary("killed at " + point)))
		waitFor(t, jobTimeout, "the worker to die", victim.ended)
		died := time.Now()
		b.ledger.disrupt()
		b.start(heir)
		if attempts == 2 {
			_, when := b.begun(s, 2)
			within(t, "attempt 2 begins", when.Sub(died), restartMax)
		}
		b.await(s)
		if r, err := b.record(s.id); err != nil || r.attempt != attempts {
			t.Errorf("%d attempts, want %d: %v", r.attempt, attempts, err)
		}
		// Its files go when its place has a process again.
		b.start(victim)
	}
}

// frozenWorker stops a worker until its job is another's and done, and wakes it up.
func frozenWorker(t *testing.T, b *bench) {
	s := b.create(chunked("step_ms=700", 8))
	sleeper, _ := b.begun(s, 1)
	b.progress(s, 20)
	sleeper.freeze(t)
	frozen := time.Now()
	b.ledger.disrupt()
	heir, when := b.begun(s, 2)
	if heir == sleeper {
		t.Fatal("a stopped process began an attempt")
	}
	within(t, "attempt 2 begins", when.Sub(frozen), restartMax)
	b.await(s)
	first, err := b.record(s.id)
	if err != nil {
		t.Fatal(err)
	}
	sleeper.thaw(t)
	waitFor(t, jobTimeout, "the sleeper to learn that the job is not its own", func() bool {
		for _, l := range sleeper.log.lines("attempt ends without a result") {
			if l.JobID == s.id && l.Attempt == 1 {
				return l.Outcome == "stale" || l.Outcome == "lease_lost"
			}
		}
		return false
	})
	if again, err := b.record(s.id); err != nil || again.attempt != 2 || again.result != first.result {
		t.Errorf("the result changed: %+v, %+v, %v", first, again, err)
	}
	// It is of use for the next ones.
	b.await(b.create(script("after the sleep")))
	if sleeper.ended() {
		t.Error("the worker ended")
	}
}

// workerWithoutGrace stops a worker and kills it a moment later, again and again: the job is not charged for the stops that it heard of.
func workerWithoutGrace(t *testing.T, b *bench) {
	if _, err := b.workers[1].stop(); err != nil {
		t.Fatal(err)
	}
	victim := b.workers[0]
	if _, err := victim.stop(); err != nil {
		t.Fatal(err)
	}
	b.start(victim, "--grace", "100ms")
	s := b.create(chunked("step_ms=1000", 6))
	// More often than a job may die.
	for range 4 {
		b.progress(s, 1)
		b.ledger.disrupt()
		if _, err := victim.stop(); err != nil {
			t.Fatal(err)
		}
		if v, err := b.apis[0].client.get(t.Context(), s.id); err != nil || v.Status != "queued" {
			t.Errorf("after the stop: %+v %v", v, err)
		}
		b.start(victim, "--grace", "100ms")
	}
	b.await(s)
}
