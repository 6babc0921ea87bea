package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"telefuser/internal/bench/viewer"
)

// The flood: so many messages a second for so long.
const (
	floodPerSecond = 1000
	floodFor       = 3 * time.Second
)

// TestLiveControlFlood sends a thousand controls a second, one of 13 KiB, broken JSON and keys that nobody knows: everything is answered or counted, and the
// session goes on and obeys.
func TestLiveControlFlood(t *testing.T) {
	f := startFleet(t, 1)
	s := f.fly(0, nil)
	count := func() float64 {
		return metric(t, s.client, "telefuser_serving_control_messages_total", "")
	}
	for code, text := range map[string]string{
		"too_large":     `{"type":"prompt","id":"large","prompt":"` + strings.Repeat("x", 13<<10) + `"}`,
		"bad_json":      `{"type":"control_state","controls":["w"`,
		"unknown_key":   `{"type":"control","key":"KeyZ"}`,
		"unknown_type":  `{"type":"fly"}`,
		"bad_field":     `{"type":"control_state"}`,
		"wrong_session": `{"version":1,"session_id":"other","type":"stop","payload":{}}`,
		"duplicate_key": `{"type":"control_state","controls":["w","ArrowUp"]}`,
		"early_ack":     `{"type":"delivery_ack","published_frames":1}`,
	} {
		if err := s.pilot.Send("tf.control", []byte(text)); err != nil {
			t.Fatal(err)
		}
		awaitStatus(t, s.pilot, "a refusal as "+code, func(_, data map[string]any) bool {
			return data["stage"] == "control_rejected" && data["code"] == code && data["message"] != ""
		})
	}
	if n := metric(t, s.client, "telefuser_serving_control_messages_total", `"refused"`); n < 8 {
		t.Errorf("%v refusals are counted", n)
	}

	before, frames, began := count(), s.pilot.Stats().Frames, time.Now()
	sent := flood(t, s.pilot)
	dropped := 0.0
	awaitStatus(t, s.pilot, "an answer to the flood", func(_, data map[string]any) bool {
		if data["code"] == "rate_limited" {
			dropped, _ = data["dropped"].(float64)
		}
		return dropped > float64(sent)/2
	})
	// What was dropped on the way is told with the next message that is not. The pilot's own hand adds five a second.
	waitFor(t, readyTimeout, "every message to be counted", func() bool { return count()-before >= float64(sent) })
	if extra := count() - before - float64(sent); extra > 10+10*time.Since(began).Seconds() {
		t.Errorf("%v more are counted than were sent", extra)
	}
	t.Logf("%d sent, %v told as dropped, %v counted", sent, dropped, count()-before)
	awaitFrames(t, s.pilot, frames+2*16)
	obeys(t, s.pilot, "after")
	s.awaitDepth(s.pilot, s.depth)
	if now := s.record(); now["status"] != "running" {
		t.Errorf("after the flood it is %v", now)
	}
}

// flood sends at a rate that no hand has, and answers how many.
func flood(t *testing.T, v *viewer.Viewer) (sent int) {
	t.Helper()
	const perTick = floodPerSecond / 100
	tick := time.NewTicker(time.Second / 100)
	defer tick.Stop()
	for end := time.Now().Add(floodFor); time.Now().Before(end); {
		for range perTick {
			text, err := json.Marshal(fields{"type": "control_state", "controls": []string{string("wasd"[sent%4])}})
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Send("tf.control", text); err != nil {
				t.Fatal(err)
			}
			sent++
		}
		<-tick.C
	}
	return sent
}

// obeys sends controls until one takes effect: right after a flood the next one may be dropped, too.
func obeys(t *testing.T, v *viewer.Viewer, id string) {
	t.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(readyTimeout)
	for n := 0; ; n++ {
		say(t, v, fields{"type": "control_state", "controls": []string{"w"}, "id": fmt.Sprint(id, n)})
		for waiting := true; waiting; {
			select {
			case m := <-v.Messages():
				var message struct {
					Data map[string]any `json:"data"`
				}
				if json.Unmarshal(m.Payload, &message) == nil && message.Data["stage"] == "control_applied" && message.Data["superseded"] == false {
					return
				}
			case <-tick.C:
				waiting = false
			case <-deadline:
				t.Fatal("it does not obey any more")
			}
		}
	}
}
