package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func engineFaults() []fault {
	return []fault{
		{"F06 the device has no memory left", extentFull, outOfMemory},
		{"F07 the device is lost", extentFull, deviceLost},
		{"F08 an engine hangs and is deaf", extentFull, deafEngine},
		{"F27 a poisoned job", extentFull, poison},
		{"F40 a model loads for long", extentFull, slowLoad},
	}
}

// once is a script word that lets a fault strike one time alone.
func (b *bench) once() string {
	return " once=" + filepath.Join(b.dir, fmt.Sprintf("once-%d", b.keys.Add(1)))
}

func outOfMemory(_ *testing.T, b *bench) {
	s := b.create(script("fail=oom@1"), "gpu_out_of_memory")
	s.runsMax = 2 // one retry is the product's own
	b.await(s)
	for range 4 {
		b.await(b.create(script("after the exhausted memory")))
	}
}

// deviceLost fails the device under a job: it runs again, uncharged to its user.
func deviceLost(_ *testing.T, b *bench) {
	s := b.create(script("fail=device@1" + b.once()))
	s.runsMax = 2
	b.await(s)
}

// deafEngine hangs in the middle of a job and hears nothing: its process is killed when it made no progress for the time that it may, and the slot is held until it is gone.
func deafEngine(t *testing.T, b *bench) {
	s := b.create(script("hang@1 deaf" + b.once()))
	s.runsMax = 2
	worker, _ := b.begun(s, 1)
	_, when := b.begun(s, 2)
	if r, err := b.record(s.id); err != nil || r.attempt != 2 {
		t.Errorf("%+v %v", r, err)
	}
	for _, l := range worker.log.lines("attempt ends without a result") {
		if l.JobID == s.id && l.Time.After(when) {
			t.Error("attempt 2 began before attempt 1 had ended")
		}
	}
	b.await(s)
}

// poison kills the worker of whoever runs it. The job ends at the third death, and nobody else's does.
func poison(t *testing.T, b *bench) {
	others := []*story{b.create(script("before the poison"))}
	s := b.create(script("kill@1"), "worker_crashed")
	s.runsMax = 3
	dead := 0
	// A supervisor of processes, as every deployment has one.
	done := holdsWithin(jobTimeout, func() bool {
		for _, w := range b.workers {
			if w.ended() {
				dead++
				b.ledger.disrupt()
				b.start(w)
				// Meanwhile life goes on.
				others = append(others, b.create(script("beside the poison")))
			}
		}
		b.ledger.mu.Lock()
		defer b.ledger.mu.Unlock()
		return s.end != nil
	})
	if !done || dead > 3 {
		t.Errorf("after %d dead workers: ended %v", dead, done)
	}
	b.awaitWorkers(2)
	for _, o := range others {
		b.await(o)
	}
}

// slowLoad starts workers whose engine needs longer to load than a run may take: jobs wait in the queue, and their run is not cut.
func slowLoad(t *testing.T, b *bench) {
	const load = 6 * time.Second
	var files []string
	for _, w := range b.workers {
		if _, err := w.stop(); err != nil {
			t.Fatal(err)
		}
	}
	started := time.Now()
	for _, w := range b.workers {
		file := filepath.Join(b.dir, w.name, "script")
		files = append(files, file)
		if err := os.WriteFile(file, []byte(fmt.Sprintf("load_ms=%d", load.Milliseconds())), 0o600); err != nil {
			t.Fatal(err)
		}
		b.start(w, "--run-timeout", "5s")
	}
	s := b.create(script("behind a slow load"))
	v, err := b.apis[0].client.get(t.Context(), s.id)
	if err != nil || v.Status != "queued" && time.Since(started) < load {
		t.Errorf("while the model loads: %+v %v", v, err)
	}
	for _, w := range b.workers {
		if ready := b.metric(w, "telefuser_worker_ready_slots"); ready > 0 && time.Since(started) < load {
			t.Errorf("%s has %g ready slots while its model loads", w.name, ready)
		}
	}
	worker, when := b.begun(s, 1)
	if when.Sub(started) < load {
		t.Errorf("%s took the job %s after its start, while its engine loads", worker.name, when.Sub(started))
	}
	b.await(s)
	for i, w := range b.workers {
		if err := os.Remove(files[i]); err != nil {
			t.Fatal(err)
		}
		if _, err := w.stop(); err != nil {
			t.Fatal(err)
		}
	}
}
