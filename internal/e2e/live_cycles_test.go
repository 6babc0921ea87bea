package e2e_test

import (
	"fmt"
	"os"
	"testing"
)

// What may be more after many sessions than before them.
const (
	goroutinesSlack = 5
	filesSlack      = 5
	// warmCycles come before the first count: they open connections that are kept.
	warmCycles = 5
)

// TestLiveJoiningAndLeavingLeaksNothing lets sessions come and go in every way that they end by, and counts what is left of them: goroutines, descriptors, rooms,
// slots. LIVE_LONG makes it 200 sessions.
func TestLiveJoiningAndLeavingLeaksNothing(t *testing.T) {
	cycles := 24
	if longRun() {
		cycles = 200
	}
	f := startFleet(t, 1)
	for i := range warmCycles {
		f.comeAndGo(i)
	}
	before := f.traces()
	for i := range cycles {
		f.comeAndGo(i)
	}
	var after traces
	if !holdsWithin(readyTimeout, func() bool {
		after = f.traces()
		return after.goroutines <= before.goroutines+goroutinesSlack && after.files <= before.files+filesSlack && after.mediaFiles <= before.mediaFiles+filesSlack
	}) {
		t.Errorf("before %d sessions %+v, after them %+v", cycles, before, after)
	}
	t.Logf("before %d sessions %+v, after them %+v", cycles, before, after)
	if names := f.roomNames(); len(names) != 0 {
		t.Errorf("rooms are left: %v", names)
	}
	health := f.clients[0].must(t, 200, "GET", "/v1/stream/health", nil)
	if health["workers_idle"] != 1.0 || health["workers_busy"] != 0.0 || health["queued_sessions"] != 0.0 {
		t.Errorf("in the end health is %v", health)
	}
	if n := metric(t, f.clients[0], "telefuser_serving_worker_sessions", ""); n != 0 {
		t.Errorf("%v slots are in use", n)
	}
}

// comeAndGo makes a session, sees a picture of it, and ends it in a way that depends on i.
func (f *fleet) comeAndGo(i int) {
	f.t.Helper()
	s := &flown{fleet: f, client: f.clients[0]}
	s.ticket = s.client.must(f.t, 200, "POST", "/v1/stream/sessions", fields{"identity": "pilot", "prompt": "islands", "size": "192x128"})
	s.id = s.ticket["session_id"].(string)
	s.pilot = watch(f.t, s.ticket)
	defer s.pilot.Close()
	awaitFrames(f.t, s.pilot, 1)
	status, reason := "closed", "deleted"
	switch i % 3 {
	case 0:
		s.client.must(f.t, 200, "DELETE", s.path(), nil)
	case 1:
		say(f.t, s.pilot, fields{"type": "stop"})
		reason = "stopped"
	case 2:
		s.pilot.Close()
		s.client.must(f.t, 200, "DELETE", s.path(), nil)
	}
	s.awaitEnd(status, reason)
	s.awaitIdle()
	waitFor(f.t, readyTimeout, "the room to be gone", func() bool { return len(f.roomNames()) == 0 })
}

// traces are what sessions could leave behind.
type traces struct {
	goroutines, files, mediaFiles int
}

// traces counts now.
func (f *fleet) traces() traces {
	f.t.Helper()
	return traces{
		goroutines: int(metric(f.t, f.clients[0], "go_goroutines", "")),
		files:      descriptors(f.t, f.servers[0].cmd.Process.Pid),
		mediaFiles: descriptors(f.t, f.media.PID()),
	}
}

// descriptors are how many files, sockets and pipes a process has open.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Skip("the system does not say which files are open")
	}
	return len(list)
}
