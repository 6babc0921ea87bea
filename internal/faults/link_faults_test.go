package faults_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func linkFaults() []fault {
	return []fault{
		{"F24 one API is parted from Redis", extentShort, apiParted("records", conduct{down: true}, func(n *node) *link { return n.redis })},
		{"F24 one API's Redis falls silent", extentFull, apiParted("records", conduct{silent: true}, func(n *node) *link { return n.redis })},
		{"F24 one API is parted from the store", extentFull, apiParted("storage", conduct{down: true}, func(n *node) *link { return n.s3 })},
		{"F24 one API's store falls silent", extentFull, apiParted("storage", conduct{silent: true}, func(n *node) *link { return n.s3 })},
		{"F24 one worker is parted from Redis", extentFull, workerParted},
		{"F24 one worker is parted from the store", extentFull, workerPartedFromTheStore},
	}
}

// apiParted breaks one cable of one API: it says what is broken, and the other serves on.
func apiParted(reason string, how conduct, cable func(*node) *link) func(*testing.T, *bench) {
	return func(t *testing.T, b *bench) {
		parted, whole := b.apis[0], b.apis[1]
		cable(parted).set(how)
		cut := time.Now()
		var err error
		waitFor(t, readyTimeout, "the API not to be ready", func() bool {
			err = parted.client.ready(t.Context())
			return err != nil
		})
		within(t, "the API is not ready", time.Since(cut), 2*time.Second)
		var answer *answerError
		if !errors.As(err, &answer) || answer.Status != http.StatusServiceUnavailable || !strings.Contains(answer.Body, reason) {
			t.Errorf("not ready: %v, want 503 that names %s", err, reason)
		}
		if err := parted.client.call(t.Context(), http.MethodGet, "/health", nil, nil, nil); err != nil {
			t.Errorf("the API is alive all the same: %v", err)
		}
		v, err := whole.client.post(t.Context(), script("through the other API"), nil)
		if err != nil {
			t.Fatal(err)
		}
		b.await(b.ledger.accept(v, "through the other API"))
		cable(parted).heal()
		back := time.Now()
		waitFor(t, readyTimeout, "the API to be ready", func() bool { return parted.client.ready(t.Context()) == nil })
		within(t, "the API is ready again", time.Since(back), 5*time.Second)
	}
}

// workerParted parts the worker of a job from Redis for longer than its lease: another takes the job, and the first one's commit is stale.
func workerParted(t *testing.T, b *bench) {
	s := b.create(chunked("step_ms=500", 8))
	parted, _ := b.begun(s, 1)
	parted.redis.set(conduct{down: true})
	cut := time.Now()
	b.ledger.disrupt()
	heir, when := b.begun(s, 2)
	if heir == parted {
		t.Error("a worker without Redis began an attempt")
	}
	within(t, "attempt 2 begins", when.Sub(cut), restartMax)
	b.await(s)
	parted.redis.heal()
	b.settled(b.several(3, "for the one that came back"))
}

func workerPartedFromTheStore(t *testing.T, b *bench) {
	s := b.create(chunked("step_ms=200", 4))
	parted, _ := b.begun(s, 1)
	parted.s3.set(conduct{down: true})
	b.settled(b.several(3, "on the other worker"))
	pause(t, 3*time.Second)
	parted.s3.heal()
	b.settled([]*story{s})
}
