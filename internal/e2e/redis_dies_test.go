package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFaultRedisDies kills redis-server, with jobs running and waiting, and starts it again from its append-only file.
func TestFaultRedisDies(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{syncAlways: true})
	running := s.client.create(t, long("it runs on"))
	f := follow(t, s.client, running.ID)
	waitFor(t, videoTimeout, "the job to be under way", func() bool { return f.progress() >= 1 })
	var waiting []string
	for i := range 3 {
		waiting = append(waiting, s.client.create(t, small(fmt.Sprintf("accepted %d", i))).ID)
	}
	s.redis.Kill()
	api := s.api(0)
	for name, err := range map[string]error{
		"create": func() error { _, err := api.post(t.Context(), small("refused"), nil); return err }(),
		"get":    func() error { _, err := api.get(t.Context(), running.ID); return err }(),
		"list":   func() error { _, err := api.call(t.Context(), http.MethodGet, "/v1/videos", nil, nil, nil); return err }(),
		"ready": func() error {
			_, err := api.call(t.Context(), http.MethodGet, "/v1/service/ready", nil, nil, nil)
			return err
		}(),
	} {
		var answer *answerError
		if !errors.As(err, &answer) || answer.Status != http.StatusServiceUnavailable || name != "ready" && answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s without Redis: %v", name, err)
		}
	}
	if _, err := api.call(t.Context(), http.MethodGet, "/health", nil, nil, nil); err != nil {
		t.Errorf("the API is alive all the same: %v", err)
	}
	if err := s.redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	s.awaitReady(0)
	waitFor(t, 5*time.Second, "the API to take jobs again", func() bool {
		v, err := api.post(t.Context(), small("after the restart"), nil)
		if err == nil {
			waiting = append(waiting, v.ID)
		}
		return err == nil
	})
	v := s.client.await(t, running.ID)
	f.check(t, 1)
	if n := s.attempts(v.ID); n != 1 {
		t.Errorf("the running job took %d attempts: an outage is no reason to stop work", n)
	}
	s.checkArtifact(v, 1)
	attempts := map[string]int{v.ID: 1}
	for _, id := range waiting {
		s.client.await(t, id)
		attempts[id] = 1
	}
	t.Logf("all %d videos were there %s after the restart", len(attempts), time.Since(back).Round(100*time.Millisecond))
	s.checkStore(attempts)
	s.checkTemp()
	if s.workers[0].ended() || s.apis[0].ended() {
		t.Error("a process ended with Redis")
	}
}

// TestFaultStoreDies takes the object store away while a video is made: it is stored when the store is back, and not made again.
func TestFaultStoreDies(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{})
	v := s.client.create(t, midway("kept on disk meanwhile"))
	f := follow(t, s.client, v.ID)
	waitFor(t, videoTimeout, "the job to be under way", func() bool { return f.progress() >= 1 })
	s.s3.Kill()
	waitFor(t, videoTimeout, "the worker to miss the store", func() bool {
		return strings.Contains(s.workers[0].stderr.String(), "the store does not answer")
	})
	if got, err := s.api(0).get(t.Context(), v.ID); err != nil || got.Status != "in_progress" {
		t.Errorf("without a store: %+v %v", got, err)
	}
	if err := s.s3.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	v = s.client.await(t, v.ID)
	f.check(t, 1)
	s.checkArtifact(v, 1)
	s.checkStore(map[string]int{v.ID: 1})
	s.checkTemp()
}

// freezeRedis stops redis-server for a time, so that nobody gets an answer and no connection breaks.
func (s *stack) freezeRedis(t *testing.T, d time.Duration) {
	t.Helper()
	if err := syscall.Kill(s.redis.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	pause(t, d)
	if err := syscall.Kill(s.redis.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
