package e2e_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// workerLostBar is the longest that a session may be without a worker.
const workerLostBar = 10 * time.Second

// TestLiveAWorkerIsKilled kills a whole server with kill -9: the flight that it ran goes on at the other server from where it was, and the session that was
// given to it and that it never began starts there.
func TestLiveAWorkerIsKilled(t *testing.T) {
	f := startFleet(t, 2, "--max-sessions-per-worker", "4", "--queue-size", "10")
	s := f.fly(0, nil)
	// A server is chosen by the registry, whoever was asked.
	doomed, other := 0, 1
	if strings.Contains(s.workerID(), f.workerOf(1)) {
		doomed, other = 1, 0
	}
	s.client = f.clients[other]
	// Stopped, it is still in the registry; with two sessions more than the other has, the next one would go there.
	f.servers[doomed].signal(t, syscall.SIGSTOP)
	waiting := f.assignTo(other, f.workerOf(doomed))
	began := time.Now()
	f.servers[doomed].kill()
	before := s.depth
	waitFor(t, endTimeout, "the waiting session to start elsewhere", func() bool {
		return f.clients[other].must(t, 200, "GET", "/v1/stream/sessions/"+waiting, nil)["status"] == "running"
	})
	since(t, began, workerLostBar, "the session that waited for it ran elsewhere")
	s.awaitDepth(s.pilot, before)
	since(t, began, workerLostBar, "the flight went on")
	if now := s.record(); now["status"] != "running" || now["pipeline_session_id"] == s.id+".1" || strings.Contains(s.workerID(), f.workerOf(doomed)) {
		t.Errorf("it is %v", now)
	}
	if s.depth > before+60 {
		t.Errorf("the flight went on at %v, behind %v", s.depth, before)
	}
	if n := metric(t, s.client, "telefuser_serving_migrations_total", ""); n < 1 {
		t.Errorf("%v migrations are counted", n)
	}
}

// TestLiveTheLastWorkerIsKilled kills the only worker: whoever looks is told of the end and does not wait in silence.
func TestLiveTheLastWorkerIsKilled(t *testing.T) {
	f := startFleet(t, 1)
	s := f.fly(0, nil)
	s.client = f.startAPI()
	began := time.Now()
	f.servers[0].kill()
	select {
	case <-s.pilot.Gone():
	case <-time.After(endTimeout):
		t.Fatal("the page waits for ever")
	}
	since(t, began, pictureBackBar, "the page was told")
	s.awaitEnd("failed", "worker_lost")
	waitFor(t, readyTimeout, "the room to be gone", func() bool { return len(f.roomNames()) == 0 })
}

// startAPI runs an API without workers, which stays when they are gone.
func (f *fleet) startAPI() liveClient {
	f.t.Helper()
	port := strconv.Itoa(freePort(f.t))
	c := liveClient{base: "http://127.0.0.1:" + port}
	start(f.t, spawn{name: "api", path: program(f.t), dir: f.dir, env: []string{"TELEFUSER_LIVEKIT_API_SECRET=" + f.media.APISecret},
		args: []string{"serve", "--port", port, "--auth", "off", "--redis-url", "redis://" + f.redis.Addr + "/0", "--data-dir", filepath.Join(f.dir, "api"),
			"--storage-dir", filepath.Join(f.dir, "objects"), "--livekit-url", f.media.URL, "--livekit-api-key", f.media.APIKey, "--log-format", "json"}})
	waitFor(f.t, readyTimeout, "the API to be ready", func() bool { return isReady(f.t.Context(), newClient("").http, c.base+"/v1/service/ready") })
	return c
}

// workerID is the worker that has the session now.
func (s *flown) workerID() string {
	id, _ := s.record()["worker_id"].(string)
	return id
}

// workerOf is what the names of a server's workers hold: its process id.
func (f *fleet) workerOf(i int) string { return "-" + strconv.Itoa(f.servers[i].cmd.Process.Pid) + "-" }

// assignTo makes sessions through a server until one is given to a worker, and answers that one. The others are ended.
func (f *fleet) assignTo(through int, worker string) string {
	f.t.Helper()
	for range 10 {
		made := f.clients[through].must(f.t, 200, "POST", "/v1/stream/sessions", fields{"identity": "waiter", "prompt": "islands", "size": "192x128"})
		id := made["session_id"].(string)
		if owner, _ := made["worker_id"].(string); strings.Contains(owner, worker) {
			return id
		}
	}
	f.t.Fatal("no session is given to " + worker)
	return ""
}

// TestLiveARollingRestart restarts two servers one after the other under a flight and a trickle of new sessions: no request fails, whoever is told to go takes
// no more sessions, and the flight goes on.
func TestLiveARollingRestart(t *testing.T) {
	f := startFleet(t, 2, "--max-sessions-per-worker", "4", "--queue-size", "10", "--grace", "2s")
	front := startBalancer(t, []string{f.clients[0].base, f.clients[1].base})
	waitFor(t, readyTimeout, "the balancer to know both", func() bool { return front.servers[0].ready.Load() && front.servers[1].ready.Load() })
	s := f.fly(0, nil)
	s.client = liveClient{base: front.url}
	made, failed, stop := f.trickle(s.client)
	for i := range f.servers {
		old := f.workerOf(i)
		f.servers[i].signal(t, syscall.SIGTERM)
		waitFor(t, readyTimeout, "the balancer to know that it goes", func() bool { return !front.servers[i].ready.Load() })
		said := made.Load()
		f.servers[i].waitEnd(t, stopTimeout)
		if f.servers[i].err != nil {
			t.Errorf("%s ended with %v:\n%s", f.servers[i].name, f.servers[i].err, f.servers[i].stderr.tail(2000))
		}
		if made.Load() == said {
			t.Error("no session was made meanwhile: nothing is shown")
		}
		if strings.Contains(s.workerID(), old) {
			t.Errorf("the flight is still with %s", old)
		}
		s.awaitDepth(s.pilot, s.depth)
		f.launch(i)
		waitFor(t, readyTimeout, "the balancer to know that it is back", func() bool { return front.servers[i].ready.Load() })
	}
	stop()
	if failed.Load() > 0 || made.Load() == 0 {
		t.Errorf("%d of %d sessions failed", failed.Load(), made.Load())
	}
	if now := s.record(); now["status"] != "running" || now["reason"] != nil {
		t.Errorf("in the end the flight is %v", now)
	}
	t.Logf("%d sessions were made and ended meanwhile; the flight is %v", made.Load(), s.record()["pipeline_session_id"])
}

// trickleEvery is the pause between two sessions of a trickle.
const trickleEvery = 300 * time.Millisecond

// trickle makes and ends sessions again and again until stopped.
func (f *fleet) trickle(c liveClient) (made, failed *atomic.Int64, stop func()) {
	made, failed = &atomic.Int64{}, &atomic.Int64{}
	over := make(chan struct{})
	var hand sync.WaitGroup
	hand.Go(func() {
		tick := time.NewTicker(trickleEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			made.Add(1)
			if err := makeAndEnd(c); err != nil {
				failed.Add(1)
				f.t.Error(err)
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(over)
		hand.Wait()
	})
	f.t.Cleanup(stop)
	return made, failed, stop
}

// makeAndEnd makes a session and ends it. A 202 is as good as a 200.
func makeAndEnd(c liveClient) error {
	plain := newClient(c.base)
	var made struct {
		ID string `json:"session_id"`
	}
	body := strings.NewReader(`{"identity":"passer-by","prompt":"islands","size":"192x128"}`)
	header := http.Header{"Content-Type": {"application/json"}}
	if _, err := plain.call(context.Background(), http.MethodPost, "/v1/stream/sessions", header, body, &made); err != nil {
		return err
	}
	_, err := plain.call(context.Background(), http.MethodDelete, "/v1/stream/sessions/"+made.ID, nil, nil, nil)
	return err
}
