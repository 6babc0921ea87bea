package e2e_test

import (
	"slices"
	"testing"
	"time"
)

// The bars of an outage of the media server.
const (
	// pictureBackBar is the longest that a page goes without a picture, or without an honest end.
	pictureBackBar = 15 * time.Second
	// blindMax is how many frames may be made for nobody: those of the chunks that were under way. A source that ran on would make them for all of the outage.
	blindMax = 3 * 16
)

// TestLiveMediaServerRestarts ends the media server in the middle of a flight and starts it again. The same session goes on where it was, with a keyframe.
func TestLiveMediaServerRestarts(t *testing.T) {
	f := startFleet(t, 1)
	for name, end := range map[string]func(){"killed": f.media.Kill, "stopped": f.media.Stop} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			s := f.fly(0, nil)
			before := s.record()
			began := time.Now()
			end()
			if err := f.media.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.pilot.Close()
			v := s.comeBack(pictureBackBar)
			since(t, began, pictureBackBar, "a picture was back")
			if !v.Frames()[0].Key {
				t.Error("the first picture is none that decoding can begin with")
			}
			after := s.record()
			if after["pipeline_session_id"] != before["pipeline_session_id"] || after["status"] != "running" {
				t.Errorf("before the restart %v, after it %v", before, after)
			}
			holdKeys(t, v, "w")
			s.awaitDepth(v, s.depth)
			s.client.must(t, 200, "DELETE", s.path(), nil)
			s.awaitEnd("closed", "deleted")
			s.awaitIdle()
		})
	}
}

// The goal of many restarts: all but one in twenty are back within goalBack, and no session is silent for longer than pictureBackBar without an end.
const (
	restarts = 20
	goalBack = 10 * time.Second
)

// TestLiveManyMediaServerRestarts kills the media server again and again, each time in the middle of a flight of its own, and counts how long the pages were without a picture.
func TestLiveManyMediaServerRestarts(t *testing.T) {
	if !longRun() {
		t.Skip("takes minutes: make faults-live; one restart is TestLiveMediaServerRestarts")
	}
	f := startFleet(t, 1)
	var took []time.Duration
	late := 0
	for range restarts {
		s := f.fly(0, nil)
		began := time.Now()
		f.media.Kill()
		if err := f.media.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.pilot.Close()
		s.comeBack(pictureBackBar)
		took = append(took, time.Since(began))
		if took[len(took)-1] > goalBack {
			late++
		}
		s.client.must(t, 200, "DELETE", s.path(), nil)
		s.awaitEnd("closed", "deleted")
		s.awaitIdle()
	}
	slices.Sort(took)
	t.Logf("%d restarts: back after %s at the median, %s at most; %d later than %s", restarts, took[restarts/2], took[restarts-1], late, goalBack)
	if late > 1 {
		t.Errorf("%d of %d were back later than %s", late, restarts, goalBack)
	}
	if n := metric(t, f.clients[0], "telefuser_serving_worker_sessions", ""); n != 0 {
		t.Errorf("%v slots are in use", n)
	}
}

// generated is how many frames a session has made.
func generated(record map[string]any) float64 {
	facts, _ := record["facts"].(map[string]any)
	n, _ := facts["generated_frames"].(float64)
	return n
}

// TestLiveMediaServerRestartsForNobody starts the media server again when everybody has gone: the slot is free soon.
func TestLiveMediaServerRestartsForNobody(t *testing.T) {
	f := startFleet(t, 1)
	s := f.fly(0, nil)
	f.media.Kill()
	s.pilot.Close()
	if err := f.media.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.awaitEnd("closed", "room_empty")
	s.awaitIdle()
	since(t, began, pictureBackBar, "the slot was free")
	if names := f.roomNames(); len(names) != 0 {
		t.Errorf("rooms are left: %v", names)
	}
}

// TestLiveMediaServerStaysAway ends the media server for good: the session ends honestly and in time, its source rests
// meanwhile, and its slot is free.
func TestLiveMediaServerStaysAway(t *testing.T) {
	f := startFleet(t, 1)
	s := f.fly(0, nil)
	before := s.record()
	began := time.Now()
	f.media.Kill()
	s.awaitEnd("failed", "media_lost")
	if made := generated(s.record()) - generated(before); made > blindMax {
		t.Errorf("%v frames were made while nobody could see them", made)
	}
	s.awaitIdle()
	since(t, began, pictureBackBar, "it had ended and the slot was free")
	if n := metric(t, s.client, "telefuser_serving_sessions_finished_total", `"media_lost"`); n != 1 {
		t.Errorf("%v sessions are counted as media_lost", n)
	}
	if status, answer := s.client.do(t, "POST", "/v1/stream/sessions", fields{"identity": "pilot", "prompt": "islands"}); status != 503 {
		t.Errorf("a session without a media server: %d %v", status, answer)
	}
	if err := f.media.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := f.fly(0, nil)
	next.client.must(t, 200, "DELETE", next.path(), nil)
	next.awaitEnd("closed", "deleted")
}
