package streaming_test

import (
	"fmt"
	"testing"
	"time"

	"telefuser/streaming"
)

// TestHungrySessionsShareOneModel runs three sessions on one resident model that makes chunks more slowly than one of them shows them, so that each always wants it:
// one works at a time, the model changes hands within a time slice, and each of the parked ones goes on exactly where it was.
func TestHungrySessionsShareOneModel(t *testing.T) {
	const chunks = 14
	b := newBundle(t, quick())
	e := &engine{took: 50 * time.Millisecond}
	b.pool(streaming.PoolConfig{SessionsPerWorkerMax: 3, TimeSlice: 150 * time.Millisecond}, e)
	var ids []string
	var all []*room
	for range 3 {
		s := b.create(func(s *streaming.Spec) {
			s.Frames, s.Delivery = chunks*framesPerChunk, streaming.DeliveryLossless
		})
		ids, all = append(ids, s.ID), append(all, b.rooms.of(s.Room))
	}
	for _, id := range ids {
		b.until("all are resident", func() bool { return b.get(id).Status == streaming.StatusRunning })
	}
	for _, room := range all {
		room.enter("ann")
	}
	for i, id := range ids {
		b.until("all frames are out", func() bool { return len(all[i].shown()) == chunks*framesPerChunk })
		b.until("done is said", func() bool {
			all[i].say(fmt.Sprintf(`{"type":"delivery_ack","published_frames":%d}`, chunks*framesPerChunk))
			return b.get(id).Status.Terminal()
		})
		if got := b.ends(id, streaming.ReasonFinished); got.Outcome != streaming.OutcomeVerified {
			t.Errorf("session %d: %s", i, got.Outcome)
		}
		for n, f := range all[i].shown() {
			if int(f.first) != n%256 {
				t.Fatalf("session %d shows frame %d as number %d", i, f.first, n)
			}
		}
	}
	if e.twoAtOnce.Load() {
		t.Error("two sessions used the model at once")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	made := map[string]int{}
	for _, id := range e.makers {
		if made[id]++; made[id] == chunks {
			break
		}
	}
	for _, id := range ids {
		if made[id] < chunks/2 {
			t.Errorf("when the first session was done, the others were at %v", made)
		}
	}
}
