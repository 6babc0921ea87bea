package e2e_test

import (
	"testing"
	"time"
)

// emptyTimeout is how long a session of these tests may be without anybody; people get more.
const emptyTimeout = 5 * time.Second

// TestLiveTheLastViewerLeaves empties a room: who comes back in time finds the flight where it was, and when nobody does the slot is free.
func TestLiveTheLastViewerLeaves(t *testing.T) {
	f := startFleet(t, 1, "--room-empty-timeout", emptyTimeout.String())
	s := f.fly(0, nil)
	before := s.record()
	s.leave()
	v := s.comeBack(emptyTimeout)
	holdKeys(t, v, "w")
	s.awaitDepth(v, s.depth)
	if now := s.record(); now["pipeline_session_id"] != before["pipeline_session_id"] || now["status"] != "running" {
		t.Errorf("before the visit %v, after it %v", before, now)
	}
	s.pilot = v
	began := s.leave()
	made := generated(s.record())
	s.awaitEnd("closed", "room_empty")
	s.awaitIdle()
	since(t, began, emptyTimeout+3*time.Second, "the slot was free")
	if made = generated(s.record()) - made; made > blindMax {
		t.Errorf("%v frames were made while nobody could see them", made)
	}
}

// leave empties the room, and returns when the record knows.
func (s *flown) leave() time.Time {
	s.t.Helper()
	s.pilot.Close()
	left := time.Now()
	waitFor(s.t, readyTimeout, "the record to know", func() bool { return s.record()["participant_count"] == 0.0 })
	return left
}

// TestLiveTheControllerReloads reloads the controller's page while somebody watches: it is the same session, and it obeys again.
func TestLiveTheControllerReloads(t *testing.T) {
	f := startFleet(t, 1, "--controller-timeout", "10s")
	s := f.fly(0, nil)
	guest := watch(t, s.token("guest", "viewer"))
	awaitFrames(t, guest, 10)
	before := s.record()
	s.pilot.Close()
	waitFor(t, readyTimeout, "the record to know that one has left", func() bool { return s.record()["participant_count"] == 1.0 })
	seen := guest.Stats().Frames
	pilot := watch(t, s.token("pilot", "controller"))
	awaitFrames(t, pilot, 1)
	say(t, pilot, fields{"type": "control", "key": "j", "id": "again"})
	awaitStatus(t, pilot, "the control to be obeyed", func(_, data map[string]any) bool {
		return data["stage"] == "control_applied" && data["control_id"] == "again" && data["superseded"] == false
	})
	s.awaitDepth(pilot, s.depth-1)
	waitFor(t, readyTimeout, "the record to know that one is back", func() bool { return s.record()["participant_count"] == 2.0 })
	if now := s.record(); now["pipeline_session_id"] != before["pipeline_session_id"] || now["status"] != "running" {
		t.Errorf("before the reload %v, after it %v", before, now)
	}
	awaitFrames(t, guest, seen+5)
	// Whoever does not come back within the grace is waited for no longer, though somebody watches.
	began := time.Now()
	pilot.Close()
	s.awaitEnd("closed", "controller_absent")
	since(t, began, 15*time.Second, "without its controller it ended")
	s.awaitIdle()
}
