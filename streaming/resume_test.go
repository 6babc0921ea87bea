package streaming_test

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"telefuser/streaming"
)

// TestAResumedSessionHoldsItsKeys loses the engine while a key is held: the next owner's source is told the keys that are held by then, and a release of one of them
// is a release.
func TestAResumedSessionHoldsItsKeys(t *testing.T) {
	b := newBundle(t, quick())
	b.reaper()
	var die atomic.Bool
	e := &engine{took: time.Millisecond, keeps: true, fail: func(int) error {
		if die.CompareAndSwap(true, false) {
			return fmt.Errorf("gone: %w", streaming.ErrEngineLost)
		}
		return nil
	}}
	b.pool(streaming.PoolConfig{}, e)
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	room.enter("ann")
	f := flight{b, s.ID, room}
	sent := func(epoch int, keys string) {
		t.Helper()
		f.until(fmt.Sprintf("epoch %d flies with %s", epoch, keys), func() bool {
			flown := ""
			for _, m := range room.heard(t, streaming.TopicStatus) {
				switch m.stage() {
				case "worker_running": // what an older owner said counts no more
					flown = ""
					if m.data()["epoch"] != float64(epoch) {
						flown = "another epoch"
					}
				case "chunk_sent":
					if flown != "another epoch" {
						flown = fmt.Sprint(m.data()["controls"])
					}
				}
			}
			return flown == keys
		})
	}
	b.until("it runs", func() bool { return len(room.shown()) > 0 })
	room.say(`{"type":"control_state","controls":["w","j"]}`)
	sent(1, "[w j]")
	f.until("the record knows the keys", func() bool { return b.get(s.ID).Facts.HeldKeys == "wj" })
	die.Store(true)
	sent(2, "[w j]")
	room.say(`{"type":"control","key":"j","event":"release"}`)
	sent(2, "[w]")
	room.say(`{"type":"control_state","controls":[]}`)
	sent(2, "[]")
	f.until("the record forgets the keys", func() bool { return b.get(s.ID).Facts.HeldKeys == "" })
	die.Store(true)
	sent(3, "[]")
}

// TestAPathReachesTheSourceWhole sends poses: the source is told all of them, in order, and newer explicit controls replace older ones that no chunk was begun with.
func TestAPathReachesTheSourceWhole(t *testing.T) {
	e := &engine{took: time.Millisecond}
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{}, e)
	s := b.create(func(s *streaming.Spec) { s.Frames, s.Delivery = 500*framesPerChunk, streaming.DeliveryLossless })
	room := b.rooms.of(s.Room)
	room.enter("ann")
	f := flight{b, s.ID, room}
	b.until("it runs", func() bool { return len(room.shown()) > 0 })
	room.say(`{"type":"control","id":"path","poses":[{"x":1},{"x":2,"yaw":1},{"x":3}]}`)
	f.applied("path")
	e.mu.Lock()
	defer e.mu.Unlock()
	if want := [][]streaming.Pose{{{X: 1}, {X: 2, Yaw: 1}, {X: 3}}}; !reflect.DeepEqual(e.paths, want) {
		t.Errorf("the source was told %+v, want %+v", e.paths, want)
	}
}
