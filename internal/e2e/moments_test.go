package e2e_test

import (
	"bytes"
	"syscall"
	"testing"
)

// moment is a point in the life of a job, as it can be seen from outside.
type moment struct {
	name  string
	await func(s *stack, id string, f *follower)
	// made says whether all frames are there, so that the engine is of no more use for this job.
	made bool
}

func moments() []moment {
	return []moment{
		{"claimed", func(s *stack, id string, _ *follower) { awaitAttempt(s.t, s.workers[0], id, 1) }, false},
		{"half", func(s *stack, _ string, f *follower) {
			waitFor(s.t, videoTimeout, "half of the job", func() bool { return f.progress() >= 50 })
		}, false},
		{"storing", func(s *stack, id string, _ *follower) { s.awaitStoring(id) }, true},
		{"committed", func(s *stack, id string, _ *follower) { s.client.await(s.t, id) }, true},
	}
}

// TestFaultAnyProcessDiesAtAnyMoment kills what is not the worker: the API, the engine, redis-server. The worker dies in a test of its own.
func TestFaultAnyProcessDiesAtAnyMoment(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(*stack){"api": killAPI, "redis": killRedis, "engine": killEngine} {
		for _, m := range moments() {
			attemptsMax := 1
			if name == "engine" && !m.made {
				// An engine that dies before it has heard of the job costs no attempt.
				attemptsMax = 2
			}
			t.Run(name+" "+m.name, diesAtMoment(m, kill, attemptsMax))
		}
	}
}

func diesAtMoment(m moment, kill func(*stack), attemptsMax int) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		s := startStack(t, stackOptions{syncAlways: true})
		s.awaitEngine("worker0")
		request := midway("whatever happens")
		if !m.made {
			request = long("whatever happens")
		}
		v := s.client.create(t, request)
		f := follow(t, s.client, v.ID)
		m.await(s, v.ID, f)
		kill(s)
		v = s.client.await(t, v.ID)
		attempts := s.attempts(v.ID)
		if attempts > attemptsMax {
			t.Errorf("%d attempts, want %d", attempts, attemptsMax)
		}
		f.check(t, attempts)
		mp4 := s.checkArtifact(v, attempts)
		again := s.client.make(t, request)
		if !bytes.Equal(mp4, s.client.content(t, again.ID, "")) {
			t.Error("the video differs from that of an undisturbed run")
		}
		s.checkStore(map[string]int{v.ID: attempts, again.ID: 1})
		s.checkTemp()
		if s.workers[0].ended() {
			t.Errorf("the worker ended: %v", s.workers[0].err)
		}
	}
}

func killAPI(s *stack) {
	s.t.Helper()
	s.apis[0].kill()
	s.startAPI(0)
	s.awaitReady(0)
}

func killRedis(s *stack) {
	s.t.Helper()
	s.redis.Kill()
	if err := s.redis.Restart(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.awaitReady(0)
}

func killEngine(s *stack) {
	s.t.Helper()
	if err := syscall.Kill(s.awaitEngine("worker0"), syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
}
