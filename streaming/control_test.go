package streaming_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"telefuser/streaming"
)

// flight is a session that runs, with its controller in the room.
type flight struct {
	*bundle
	id   string
	room *room
}

func fly(t *testing.T, cfg streaming.PoolConfig) flight { return flySpec(t, cfg, nil) }

// flySpec is fly with a request of one's own.
func flySpec(t *testing.T, cfg streaming.PoolConfig, change func(*streaming.Spec)) flight {
	t.Helper()
	b := newBundle(t, quick())
	b.pool(cfg, &engine{took: time.Millisecond})
	s := b.create(change)
	room := b.rooms.of(s.Room)
	room.enter("ann")
	b.until("it runs", func() bool { return len(room.shown()) > 0 })
	return flight{b, s.ID, room}
}

// applied waits for the answer to a control.
func (f flight) applied(id string) message {
	f.Helper()
	var m message
	f.until("the answer to "+id, func() bool {
		m = f.room.find(f.T, func(m message) bool { return m.stage() == "control_applied" && m.data()["control_id"] == id })
		return m != nil
	})
	return m
}

// refusedAs waits for a refusal with a code.
func (f flight) refusedAs(code string) message {
	f.Helper()
	var m message
	f.until("a refusal as "+code, func() bool {
		m = f.room.find(f.T, func(m message) bool { return m.stage() == "control_rejected" && m.data()["code"] == code })
		return m != nil
	})
	if text, _ := m.data()["message"].(string); text == "" {
		f.Errorf("%s has no text", code)
	}
	return m
}

// chunk waits for the report of a chunk.
func (f flight) chunk(index any) message {
	f.Helper()
	var m message
	f.until(fmt.Sprint("chunk ", index), func() bool {
		m = f.room.find(f.T, func(m message) bool { return m.stage() == "chunk_sent" && m["index"] == index })
		return m != nil
	})
	return m.data()
}

func TestEveryControlIsAcknowledgedWithItsChunk(t *testing.T) {
	// Lossless, because a chunk that a busy machine drops is never reported as sent.
	f := flySpec(t, streaming.PoolConfig{}, func(s *streaming.Spec) {
		s.Frames, s.Delivery = 500*framesPerChunk, streaming.DeliveryLossless
	})
	for id, text := range map[string]string{
		"keys":   `{"type":"control_state","controls":["KeyW","j"],"id":"keys"}`,
		"prompt": `{"version":1,"type":"prompt","id":"prompt","payload":{"prompt":"snow"}}`,
		"pose":   `{"type":"control","id":"pose","pose":{"x":5,"yaw":1}}`,
		"reset":  `{"type":"reset","id":"reset"}`,
		"again":  `{"type":"control_state","controls":[],"id":"again"}`,
		"press":  `{"type":"control","key":"d","id":"press"}`,
	} {
		f.room.say(text)
		m := f.applied(id)
		if _, ok := m["index"].(float64); !ok {
			t.Errorf("%s names no chunk: %v", id, m)
		}
		if latency, ok := m.data()["applied_control_latency_seconds"].(float64); !ok || latency < 0 || latency > 5 {
			t.Errorf("%s: %v", id, m)
		}
		c := f.chunk(m["index"])
		if id == "keys" && fmt.Sprint(c["controls"]) != "[w j]" || id == "pose" && fmt.Sprint(c["pose"]) != "map[pitch:0 x:5 y:0 yaw:1 z:0]" {
			t.Errorf("%s had no effect: %v", id, c)
		}
		if id == "keys" && c["applied_control_latency_seconds"] == nil {
			t.Error("the chunk does not tell its control's latency")
		}
	}
	f.room.say(`{"type":"control_state","controls":["w"]}`)
	f.until("the state", func() bool {
		m := f.room.find(t, func(m message) bool { return m.stage() == "control_state" && fmt.Sprint(m.data()["controls"]) == "[w]" })
		return m != nil && m.data()["revision"] != nil && m.data()["pending_direction_commands"] != nil
	})
}

func TestEveryRejectedMessageIsAnswered(t *testing.T) {
	f := fly(t, streaming.PoolConfig{})
	for code, text := range map[string]string{
		streaming.CodeBadJSON:      `{`,
		streaming.CodeTooLarge:     `{"type":"prompt","prompt":"` + strings.Repeat("x", streaming.ControlBytesMax) + `"}`,
		streaming.CodeWrongSession: `{"session_id":"other","type":"stop"}`,
		streaming.CodeBadVersion:   `{"version":3,"type":"stop"}`,
		streaming.CodeUnknownType:  `{"type":"fly"}`,
		streaming.CodeUnknownKey:   `{"type":"control","control":"KeyZ"}`,
		streaming.CodeDuplicateKey: `{"type":"control_state","controls":["w","ArrowUp"]}`,
		streaming.CodeBadField:     `{"type":"control_state"}`,
		streaming.CodeUnsupported:  `{"type":"prompt","prompt":"bad"}`,
		streaming.CodeEarlyAck:     `{"type":"delivery_ack","published_frames":1}`,
	} {
		f.room.say(text)
		f.refusedAs(code)
	}
	if f.get(f.id).Status.Terminal() {
		t.Error("the session ended")
	}
}

func TestOnlyTheControllerIsObeyed(t *testing.T) {
	f := fly(t, streaming.PoolConfig{})
	f.room.event(streaming.Event{Kind: streaming.EventControl, Identity: "viewer", Payload: []byte(`{"type":"stop"}`)})
	f.room.event(streaming.Event{Kind: streaming.EventControl, Identity: "", Payload: []byte(`{"type":"stop"}`)})
	f.room.say(`{"type":"control_state","controls":["w"],"id":"mine"}`)
	f.applied("mine")
	if f.get(f.id).Status.Terminal() {
		t.Fatal("a viewer ended the session")
	}
	f.room.say(`{"type":"stop","id":"bye"}`)
	f.ends(f.id, streaming.ReasonStopped)
}

// TestAFloodIsDroppedAndCounted sends a thousand messages at once: the session lives, and the sum of dropped and obeyed is a thousand.
func TestAFloodIsDroppedAndCounted(t *testing.T) {
	f := fly(t, streaming.PoolConfig{ControlsPerSecondMax: 50})
	for i := range 1000 {
		f.room.say(fmt.Sprintf(`{"type":"control_state","controls":[%q]}`, string("wasd"[i%4])))
	}
	f.room.event(streaming.Event{Kind: streaming.EventReconnected, Dropped: 100})
	var dropped float64
	f.until("the count", func() bool {
		f.room.event(streaming.Event{Kind: streaming.EventReconnected}) // any event lets the inbox report what it owes
		for _, m := range f.room.heard(t, streaming.TopicStatus) {
			if m.stage() == "control_rejected" && m.data()["code"] == streaming.CodeRateLimited {
				dropped, _ = m.data()["dropped"].(float64)
			}
		}
		return dropped >= 900
	})
	if dropped > 1050 {
		t.Errorf("%v dropped", dropped)
	}
	answers := 0
	for _, m := range f.room.heard(t, streaming.TopicStatus) {
		if m.stage() == "control_rejected" {
			answers++
		}
	}
	if answers > 10 {
		t.Errorf("a flood of %d answers", answers)
	}
	f.until("tokens are back", func() bool {
		f.room.say(`{"type":"control_state","controls":["w"],"id":"after"}`)
		return f.room.find(t, func(m message) bool { return m.stage() == "control_applied" && m.data()["control_id"] == "after" }) != nil
	})
}

// TestATapReachesTheSource presses and releases between two chunks: the source is told both, in order, so that it can honour the tap.
func TestATapReachesTheSource(t *testing.T) {
	f := fly(t, streaming.PoolConfig{})
	f.room.say(`{"type":"control","key":"w","event":"press","id":"down"}`)
	f.room.say(`{"type":"control","key":"w","event":"release","id":"up"}`)
	down, up := f.applied("down"), f.applied("up")
	if down["index"].(float64) > up["index"].(float64) {
		t.Errorf("the release came first: %v, %v", down, up)
	}
	states := []string{}
	for _, m := range f.room.heard(t, streaming.TopicStatus) {
		if m.stage() == "control_state" {
			states = append(states, fmt.Sprint(m.data()["controls"]))
		}
	}
	if !slices.Equal(states, []string{"[w]", "[]"}) {
		t.Errorf("%v", states)
	}
}

func TestWhatCannotTakeEffectIsAnswered(t *testing.T) {
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{}, &engine{took: time.Millisecond})
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	b.until("it is there", func() bool { return room.find(t, func(m message) bool { return m.stage() == "runtime_ready" }) != nil })
	// Nobody of the audience is in the room, so no chunk is made after the first.
	b.until("it is heard", func() bool {
		room.say(`{"type":"control_state","controls":["w"],"id":"late"}`)
		return room.find(t, func(m message) bool { return m.stage() == "control_state" }) != nil
	})
	room.say(`{"type":"stop"}`)
	b.ends(s.ID, streaming.ReasonStopped)
	f := flight{b, s.ID, room}
	if room.find(t, func(m message) bool { return m.stage() == "control_applied" }) == nil {
		f.refusedAs(streaming.CodeEnding)
	}
}
