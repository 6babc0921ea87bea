package e2e_test

import (
	"bytes"
	"syscall"
	"testing"
	"time"
)

// restartMax is the longest time from the death of a worker to the next attempt at its job.
const restartMax = 20 * time.Second

// heartbeatTimeout is how long an engine may be silent.
const heartbeatTimeout = 15 * time.Second

// midway asks for a video that takes a second or two.
func midway(prompt string) fields {
	return fields{"model": "terrain", "prompt": prompt, "size": "416x240", "seconds": 6, "seed": 7}
}

// TestFaultWorkerDiesAtEachPoint kills a worker as hard as possible at each point of an attempt.
func TestFaultWorkerDiesAtEachPoint(t *testing.T) {
	t.Parallel()
	for point, attempts := range map[string]int{
		"claimed": 2, "half": 2, "encoding": 2, "uploading": 2, "before_commit": 2, "after_commit": 1,
	} {
		t.Run(point, workerDiesAt(point, attempts))
	}
}

func workerDiesAt(point string, attempts int) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		s := startStack(t, stackOptions{noWorkers: true})
		victim := s.startWorker("worker0", "--die-at", point)
		v := s.client.create(t, midway("a valley that outlives its worker"))
		f := follow(t, s.client, v.ID)
		victim.waitEnd(t, videoTimeout)
		if got := victim.killedBy(); got != syscall.SIGKILL {
			t.Fatalf("the worker ended by %v and %v", got, victim.err)
		}
		died := time.Now()
		waitFor(t, 10*time.Second, "the dead worker's engine to end", func() bool { return len(s.engines("worker0")) == 0 })

		next := s.startWorker("worker0")
		if attempts == 2 {
			if took := awaitAttempt(t, next, v.ID, 2).Sub(died); took > restartMax {
				t.Errorf("attempt 2 began %s after the death", took)
			}
		}
		v = s.client.await(t, v.ID)
		f.check(t, attempts)
		if n := s.attempts(v.ID); n != attempts {
			t.Errorf("%d attempts, want %d", n, attempts)
		}
		mp4 := s.checkArtifact(v, attempts)

		// What was made in two attempts is what one alone makes, and the worker works on.
		again := s.client.make(t, midway("a valley that outlives its worker"))
		if !bytes.Equal(mp4, s.client.content(t, again.ID, "")) {
			t.Error("the video differs from that of an undisturbed run")
		}
		if next.ended() {
			t.Errorf("the second worker ended: %v", next.err)
		}
		s.checkStore(map[string]int{v.ID: attempts, again.ID: 1})
		s.checkTemp()
		next.stop(t)
		waitFor(t, 5*time.Second, "the engine to end with its worker", func() bool { return len(s.engines("worker0")) == 0 })
	}
}

// TestFaultEngineDies kills engines: their worker lives on, and the job gets another one until its budget of deaths is spent.
func TestFaultEngineDies(t *testing.T) {
	t.Parallel()
	t.Run("once", engineDiesOnce(syscall.SIGKILL, restartMax))
	// A hung one is waited for first: a silent engine may be a busy one.
	t.Run("hung", engineDiesOnce(syscall.SIGSTOP, heartbeatTimeout+restartMax))
	t.Run("again and again", engineDiesAlways)
}

func engineDiesOnce(how syscall.Signal, restartMax time.Duration) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		s := startStack(t, stackOptions{})
		v := s.client.create(t, long("an engine that ends"))
		f := follow(t, s.client, v.ID)
		waitFor(t, videoTimeout, "the job to be under way", func() bool { return f.progress() >= 5 })
		engine := s.awaitEngine("worker0")
		if err := syscall.Kill(engine, how); err != nil {
			t.Fatal(err)
		}
		died := time.Now()
		if took := awaitAttempt(t, s.workers[0], v.ID, 2).Sub(died); took > restartMax {
			t.Errorf("attempt 2 began %s after the engine had gone", took)
		}
		v = s.client.await(t, v.ID)
		f.check(t, 2)
		s.checkArtifact(v, 2)
		if s.workers[0].ended() {
			t.Errorf("the worker ended with its engine: %v", s.workers[0].err)
		}
		waitFor(t, 10*time.Second, "the old engine to be gone", func() bool { return syscall.Kill(engine, 0) != nil })
		s.checkStore(map[string]int{v.ID: 2})
		s.checkTemp()
	}
}

// engineDiesAlways kills every engine that takes the job up: it fails in the end, and nothing else does.
func engineDiesAlways(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{})
	v := s.client.create(t, long("no engine survives this"))
	killed := map[int]bool{}
	waitFor(t, videoTimeout, "the job to fail", func() bool {
		got, err := s.client.get(t.Context(), v.ID)
		if err != nil {
			return false
		}
		if v = got; v.Status == "in_progress" && v.Progress > 0 {
			for _, pid := range s.engines("worker0") {
				if !killed[pid] {
					killed[pid] = true
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
		return v.terminal()
	})
	if v.Status != "failed" || v.Error == nil || v.Error.Code != "worker_crashed" {
		t.Errorf("after %d dead engines: %s %+v", len(killed), v.Status, v.Error)
	}
	// A fresh engine may be killed before its worker has told of the last one's end, so engines are no measure: attempts are.
	if n := s.attempts(v.ID); n != 3 {
		t.Errorf("it took %d attempts and %d engines, want 3 attempts", n, len(killed))
	}
	next := s.client.make(t, small("the next one"))
	s.checkStore(map[string]int{next.ID: 1})
	s.checkTemp()
}

// TestFaultFrozenWorkerComesBack stops a worker for longer than its lease, lets another one finish its job, and wakes it up.
func TestFaultFrozenWorkerComesBack(t *testing.T) {
	t.Parallel()
	t.Run("while it generates", frozenWorker(long("two workers, one video"), func(s *stack, _ string, f *follower) {
		waitFor(s.t, videoTimeout, "the job to be under way", func() bool { return f.progress() >= 5 })
	}))
	// Awake again, it has but a few calls to make until it commits.
	t.Run("while it stores", frozenWorker(midway("two workers, one video"), func(s *stack, id string, _ *follower) { s.awaitStoring(id) }))
}

// frozenWorker freezes the first worker of a stack at a moment.
func frozenWorker(request fields, awaitMoment func(*stack, string, *follower)) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		s := startStack(t, stackOptions{})
		frozen := s.workers[0]
		v := s.client.create(t, request)
		f := follow(t, s.client, v.ID)
		awaitMoment(s, v.ID, f)
		frozen.signal(t, syscall.SIGSTOP)
		stopped := time.Now()
		second := s.startWorker("worker1")
		if took := awaitAttempt(t, second, v.ID, 2).Sub(stopped); took > restartMax {
			t.Errorf("attempt 2 began %s after the worker had frozen", took)
		}
		v = s.client.await(t, v.ID)
		frozen.signal(t, syscall.SIGCONT)
		// Awake again, it must learn that the job is no longer its own, and be of use for the next ones.
		second.stop(t)
		next := s.client.make(t, small("for the one that came back"))
		f.check(t, 2)
		if n := s.attempts(v.ID); n != 2 {
			t.Errorf("%d attempts, want 2", n)
		}
		s.checkArtifact(v, 2)
		s.checkStore(map[string]int{v.ID: 2, next.ID: 1})
		s.checkTemp()
		frozen.stop(t)
	}
}

// TestWorkerDrains ends workers in an orderly way in the middle of a job.
func TestWorkerDrains(t *testing.T) {
	t.Parallel()
	t.Run("with time to finish", func(t *testing.T) {
		t.Parallel()
		s := startStack(t, stackOptions{})
		v := s.client.create(t, midway("finished in time"))
		waiting := s.client.create(t, small("for the next worker"))
		f := follow(t, s.client, v.ID)
		waitFor(t, videoTimeout, "the job to be under way", func() bool { return f.progress() >= 5 })
		s.workers[0].stop(t)
		v = s.client.await(t, v.ID)
		if n := s.attempts(v.ID); n != 1 {
			t.Errorf("%d attempts, want the one that was running", n)
		}
		if got, err := s.client.get(t.Context(), waiting.ID); err != nil || got.Status != "queued" {
			t.Errorf("a draining worker took another job: %v %v", got.Status, err)
		}
		s.startWorker("worker0")
		s.client.await(t, waiting.ID)
		s.checkArtifact(v, 1)
		s.checkStore(map[string]int{v.ID: 1, waiting.ID: 1})
		s.checkTemp()
	})
	t.Run("without time to finish", func(t *testing.T) {
		t.Parallel()
		s := startStack(t, stackOptions{workerArgs: []string{"--grace", "100ms"}})
		v := s.client.create(t, long("handed over"))
		f := follow(t, s.client, v.ID)
		// More often than a job may die: handing over is never charged.
		for i := range 4 {
			waitFor(t, videoTimeout, "the job to be under way", func() bool { return f.progress() >= 1 })
			s.workers[0].stop(t)
			if got, err := s.client.get(t.Context(), v.ID); err != nil || got.Status != "queued" {
				t.Fatalf("hand-over %d: %v %v", i, got.Status, err)
			}
			s.workers[0] = s.startWorker("worker0")
		}
		v = s.client.await(t, v.ID)
		f.check(t, 5)
		n := s.attempts(v.ID)
		s.checkArtifact(v, n)
		s.checkStore(map[string]int{v.ID: n})
		s.checkTemp()
	})
}
