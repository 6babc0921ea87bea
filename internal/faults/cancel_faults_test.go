package faults_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func cancelFaults() []fault {
	return []fault{
		{"F37 cancelled while it waits", extentShort, cancelledWaiting},
		{"F37 cancelled while it runs", extentShort, cancelledRunning("step_ms=500", 2*time.Second)},
		{"F37 cancelled while its engine is deaf", extentFull, cancelledRunning("step_ms=500 hang@2 deaf", 5*time.Second)},
		{"F37 cancelled while it is stored", extentFull, cancelledStoring},
		{"F37 cancelled when it is done", extentFull, cancelledDone},
		{"F37 deleted twice and by two", extentFull, deletedTwice},
		{"F37 deleted while Redis is cut off", extentFull, deletedInACut},
		{"F37 cancelled at any moment", extentFull, cancelledAtAnyMoment},
	}
}

// cancel is the operator's command; it answers what it prints, and whether it succeeded.
func (b *bench) cancel(id string) (string, bool) {
	b.t.Helper()
	cmd := exec.CommandContext(b.ctx(), b.opts.program, "jobs", "cancel", id)
	cmd.Env, cmd.Dir = append(baseEnv(), b.apis[1].env...), b.dir
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// cancelled cancels an open video that must become failed as cancelled.
func (b *bench) cancelled(s *story) {
	b.t.Helper()
	if out, ok := b.cancel(s.id); !ok {
		b.t.Errorf("cancel: %s", out)
	}
	if v := b.await(s); v.outcome() != "cancelled" {
		b.t.Errorf("it is %s", v.outcome())
	}
	// Again: it stays as it is.
	if out, ok := b.cancel(s.id); ok && !strings.Contains(out, "cancelled") {
		b.t.Logf("the second cancel says: %s", out)
	}
	if v, err := b.apis[0].client.get(b.ctx(), s.id); err != nil || v.outcome() != "cancelled" {
		b.t.Errorf("after the second cancel: %+v %v", v, err)
	}
}

func cancelledWaiting(t *testing.T, b *bench) {
	running := b.busy("step_ms=1000", 60) // until the test is done with them
	s := b.create(script("cancelled while it waits"), "cancelled")
	b.cancelled(s)
	for _, r := range running {
		if err := b.delete(b.apis[0].client, r); err != nil {
			t.Error(err)
		}
	}
	b.settled(b.several(2, "after the cancelled one"))
	if runs := b.begins()[s.id]; len(runs) != 0 {
		b.t.Errorf("it ran all the same: %v", runs)
	}
}

// cancelledRunning measures how long the worker takes to be free for the next one.
func cancelledRunning(words string, bar time.Duration) func(*testing.T, *bench) {
	return func(t *testing.T, b *bench) {
		s := b.create(chunked(words, 20), "cancelled")
		worker, _ := b.begun(s, 1)
		b.progress(s, 1)
		if strings.Contains(words, "deaf") {
			pause(t, 1500*time.Millisecond) // until it hangs
		}
		said := time.Now()
		if err := b.delete(b.apis[0].client, s); err != nil {
			t.Fatal(err)
		}
		waitFor(t, jobTimeout, "the slot to be free", func() bool { return b.metric(worker, "telefuser_worker_busy_slots") == 0 })
		within(t, "the slot is free", time.Since(said), bar+time.Second)
		b.settled(b.several(2, "after the cancelled one"))
	}
}

func cancelledStoring(_ *testing.T, b *bench) {
	b.gate.set(slowDown(func(int64) bool { return true }))
	s := b.create(script("cancelled while it is stored"), "cancelled")
	b.progress(s, 95)
	b.cancelled(s)
	b.gate.set(nil)
}

func cancelledDone(t *testing.T, b *bench) {
	s := b.create(script("cancelled when it is done"))
	b.await(s)
	if out, ok := b.cancel(s.id); ok {
		t.Errorf("a completed video was cancelled: %s", out)
	}
}

// deletedTwice deletes through both APIs at once: one finds it, the other may find nothing, and it is gone.
func deletedTwice(t *testing.T, b *bench) {
	s := b.create(chunked("step_ms=300", 20), "cancelled")
	b.begun(s, 1)
	b.ledger.remove(s.id)
	errs := make(chan error, 2)
	for _, a := range b.apis {
		go func() { errs <- a.client.delete(t.Context(), s.id) }()
	}
	found := 0
	for range b.apis {
		switch err := <-errs; {
		case err == nil:
			found++
		case statusOf(err) != http.StatusNotFound:
			t.Errorf("delete: %v", err)
		}
	}
	if found != 1 {
		t.Errorf("%d deletions found it", found)
	}
	if _, err := b.apis[0].client.get(t.Context(), s.id); statusOf(err) != http.StatusNotFound {
		t.Errorf("after the deletion: %v", err)
	}
}

// deletedInACut asks for a deletion that cannot be: it is refused, and the video is what it was.
func deletedInACut(t *testing.T, b *bench) {
	s := b.create(chunked("step_ms=300", 8))
	b.begun(s, 1)
	for _, n := range b.nodes() {
		n.redis.set(conduct{down: true})
	}
	b.unavailable("delete", b.delete(b.apis[0].client, s))
	for _, n := range b.nodes() {
		n.redis.heal()
	}
	b.await(s)
}

// cancelledAtAnyMoment deletes videos at moments spread over their life. Each is either gone for good or was never deleted.
func cancelledAtAnyMoment(t *testing.T, b *bench) {
	started := time.Now()
	b.await(b.create(script("how long does one take")))
	took := time.Since(started)
	for i := range 24 { // TestCancelRaces has a thousand
		s := b.create(script("deleted somewhere"))
		pause(t, took*time.Duration(i%24)/20)
		if err := b.delete(b.apis[i%2].client, s); err != nil {
			t.Errorf("delete: %v", err)
			continue
		}
		if _, err := b.apis[(i+1)%2].client.get(t.Context(), s.id); statusOf(err) != http.StatusNotFound {
			t.Errorf("%s was deleted and is there: %v", s.id, err)
		}
	}
}
