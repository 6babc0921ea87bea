package e2e_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestFaultTwentyJobsSurviveTheLossOfAnyProcess sends twenty jobs through two APIs and two workers and ends one process in the middle.
func TestFaultTwentyJobsSurviveTheLossOfAnyProcess(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*stack){
		"an API is killed":    func(s *stack) { s.apis[0].kill() },
		"an API is stopped":   func(s *stack) { s.apis[1].stop(s.t) },
		"a worker is killed":  func(s *stack) { s.workers[0].kill() },
		"a worker is stopped": func(s *stack) { s.workers[1].stop(s.t) },
	} {
		t.Run(name, twentyJobs(end))
	}
}

// twentyJobs is a test in which one process ends.
func twentyJobs(end func(*stack)) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		s := startStack(t, stackOptions{apis: 2, workers: 2})
		s.awaitWorkers(2)
		var mu sync.Mutex
		ids := map[string]bool{}
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				f := small(fmt.Sprintf("job %d", i)).with(fields{"num_frames": 33, "size": "256x144"})
				// A client tries again where a connection breaks, always with the same key.
				header := http.Header{"Idempotency-Key": {fmt.Sprintf("key-%d", i)}}
				var v video
				var err error
				sent := holdsWithin(videoTimeout, func() bool {
					v, err = s.client.post(t.Context(), f, header)
					return err == nil
				})
				if !sent {
					t.Errorf("job %d: %v", i, err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				ids[v.ID] = true
			})
			if i == 10 {
				end(s)
			}
		}
		group.Wait()
		if len(ids) != 20 {
			t.Fatalf("%d ids for 20 jobs", len(ids))
		}
		for id := range ids {
			v := s.client.await(t, id)
			if got := probe(t, s.client.content(t, id, "")); got.frames != v.NumFrames {
				t.Errorf("%s: %+v", id, got)
			}
		}
		if listed := s.client.all(t, 7); len(listed) != 20 {
			t.Errorf("%d jobs are listed", len(listed))
		}
		s.checkStore(s.allAttempts())
		s.checkTemp()
	}
}

// TestAnyServerAnswersForAnyVideo makes a video at one API and does everything else at another.
func TestAnyServerAnswersForAnyVideo(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{apis: 2})
	a, b := s.api(0), s.api(1)
	v := a.create(t, small("here and there"))
	if _, err := b.get(t.Context(), v.ID); err != nil {
		t.Errorf("read at once on the other server: %v", err)
	}
	v = b.await(t, v.ID)
	checkFile(t, v, b.content(t, v.ID, ""))
	checkWebP(t, b.content(t, v.ID, "thumbnail"))
	checkJPEG(t, b.content(t, v.ID, "spritesheet"))
	if listed := b.all(t, 10); len(listed) != 1 || listed[0].ID != v.ID {
		t.Errorf("listed: %v", listed)
	}
	if err := b.delete(t.Context(), v.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := a.get(t.Context(), v.ID); statusOf(err) != http.StatusNotFound {
		t.Errorf("after the delete: %v", err)
	}
	s.checkStore(nil)
}

// TestQueueOrder holds a single worker to one job at a time, in the order of their coming.
func TestQueueOrder(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{})
	first := s.client.create(t, long("the first"))
	s.client.awaitStatus(t, first.ID, "in_progress")
	second, third := s.client.create(t, small("the second")), s.client.create(t, small("the third"))
	for i, id := range []string{second.ID, third.ID} {
		v, err := s.client.get(t.Context(), id)
		if err != nil || v.Status != "queued" || v.Progress != 0 || v.QueuePosition == nil || *v.QueuePosition != int64(i+1) {
			t.Errorf("waiting: %+v %v", v, err)
		}
	}
	// The first one is cancelled just before the second begins: only the first one must end.
	if err := s.client.delete(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	freed := time.Now()
	s.client.await(t, second.ID)
	if took := time.Since(freed); took > 20*time.Second {
		t.Errorf("the worker was free after %s", took)
	}
	s.client.await(t, third.ID)
	if _, err := s.client.get(t.Context(), first.ID); statusOf(err) != http.StatusNotFound {
		t.Errorf("the deleted video came back: %v", err)
	}
	s.checkStore(map[string]int{second.ID: 1, third.ID: 1})
	s.checkTemp()
}

// TestOperatorCancels ends a running and a waiting job with the operator's command.
func TestOperatorCancels(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{})
	running := s.client.create(t, long("runs"))
	s.client.awaitStatus(t, running.ID, "in_progress")
	waiting := s.client.create(t, small("waits"))
	next := s.client.create(t, small("stays"))
	for _, id := range []string{running.ID, waiting.ID} {
		s.telefuser("jobs", "cancel", id)
		v, err := sdkPoll(t, s, id)
		if err != nil || v.Status != "failed" || v.Error.Code != "cancelled" {
			t.Errorf("cancelled: %v %v", v, err)
		}
	}
	s.client.await(t, next.ID)
	s.checkStore(map[string]int{next.ID: 1})
	s.checkTemp()
}

// TestDeleteRacesCompletion deletes videos around the moment at which they are completed: each is either gone for good, or was never deleted.
func TestDeleteRacesCompletion(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{})
	var took time.Duration
	start := time.Now()
	s.client.make(t, small("how long does one take"))
	took = time.Since(start)
	kept := map[string]int{}
	for _, v := range s.client.all(t, 100) {
		kept[v.ID] = 1
	}
	for i := range 20 {
		v := s.client.create(t, small(fmt.Sprintf("race %d", i)))
		pause(t, took*time.Duration(i)/16)
		if err := s.client.delete(t.Context(), v.ID); err != nil {
			s.client.await(t, v.ID)
			kept[v.ID] = 1
			continue
		}
		if _, err := s.client.get(t.Context(), v.ID); statusOf(err) != http.StatusNotFound {
			t.Errorf("%s was deleted and is there: %v", v.ID, err)
		}
	}
	last := s.client.make(t, small("the last one"))
	kept[last.ID] = 1
	if listed := s.client.all(t, 100); len(listed) != len(kept) {
		t.Errorf("%d are listed, %d were kept", len(listed), len(kept))
	}
	s.checkStore(kept)
	s.checkTemp()
}

// TestExpiry lets videos expire: record and objects go together.
func TestExpiry(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{apiArgs: []string{"--retention", "3s"}, workerArgs: []string{"--retention", "3s"}})
	v := s.client.make(t, small("not for long"))
	if v.ExpiresAt == nil || *v.ExpiresAt-*v.CompletedAt > 4 {
		t.Fatalf("expires_at: %+v", v)
	}
	waitFor(t, leftoverTimeout, "the video to expire", func() bool {
		_, err := s.client.get(t.Context(), v.ID)
		return statusOf(err) == http.StatusNotFound
	})
	if _, err := s.client.call(t.Context(), http.MethodGet, "/v1/videos/"+v.ID+"/content", nil, nil, nil); statusOf(err) != http.StatusNotFound {
		t.Errorf("content of an expired video: %v", err)
	}
	if listed := s.client.all(t, 10); len(listed) != 0 {
		t.Errorf("an expired video is listed: %v", listed)
	}
	s.checkStore(nil)
}
