package streaming_test

import (
	"testing"

	"telefuser/streaming"
)

// TestARoomIsClosedWhenItsGuestsHaveLeft has a guest who leaves on the last words, and one who stays.
func TestARoomIsClosedWhenItsGuestsHaveLeft(t *testing.T) {
	for name, stays := range map[string]int{"leaves": 0, "stays": 1} {
		t.Run(name, func(t *testing.T) {
			b := newBundle(t, quick())
			b.pool(streaming.PoolConfig{}, &engine{})
			s := b.create(nil)
			room := b.rooms.of(s.Room)
			room.enter("ann")
			b.until("frames", func() bool { return len(room.shown()) > 0 })
			if _, err := b.store.End(t.Context(), "alice", s.ID, streaming.ReasonDeleted); err != nil {
				t.Fatal(err)
			}
			b.until("last words", func() bool { return room.find(t, func(m message) bool { return m["type"] == "done" }) != nil })
			if stays == 0 {
				room.depart("ann")
			}
			b.until("the room is closed", func() bool { return b.rooms.gone(s.Room) })
			b.rooms.mu.Lock()
			defer b.rooms.mu.Unlock()
			if got := b.rooms.under[s.Room]; got != stays {
				t.Errorf("closed under %d guests", got)
			}
		})
	}
}
