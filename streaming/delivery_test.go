package streaming_test

import (
	"fmt"
	"testing"
	"time"

	"telefuser/streaming"
)

const losslessFrames = 10 * framesPerChunk

func lossless(s *streaming.Spec) {
	s.Frames, s.Delivery = losslessFrames, streaming.DeliveryLossless
}

// whole checks that every frame came once, in order.
func whole(t *testing.T, frames []frame) {
	t.Helper()
	if len(frames) != losslessFrames {
		t.Fatalf("%d frames, want %d", len(frames), losslessFrames)
	}
	for i, f := range frames {
		if int(f.first) != i {
			t.Fatalf("frame %d is number %d", i, f.first)
		}
		if i > 0 && f.pts <= frames[i-1].pts {
			t.Fatalf("frame %d is not after the one before", i)
		}
	}
}

// TestLosslessOutcomes ends a lossless session in the three ways that it can.
func TestLosslessOutcomes(t *testing.T) {
	for outcome, counted := range map[string]int{streaming.OutcomeVerified: losslessFrames + 1, streaming.OutcomeShort: losslessFrames - 1, streaming.OutcomeTimeout: -1} {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, quick())
			b.pool(streaming.PoolConfig{AckTimeout: time.Second}, &engine{took: time.Microsecond})
			s := b.create(lossless)
			room := b.rooms.of(s.Room)
			room.enter("viewer") // who is not waited for
			room.say(`{"type":"delivery_ack","published_frames":40,"id":"early"}`)
			b.until("an ack before its time is refused", func() bool {
				room.say(`{"type":"delivery_ack","published_frames":40,"id":"early"}`)
				m := room.find(t, func(m message) bool { return m.stage() == "control_rejected" })
				return m != nil && m.data()["code"] == "early_ack" && m.data()["control_id"] == "early"
			})
			if len(room.shown()) != 0 {
				t.Error("frames before the controller came")
			}
			room.enter("ann")
			b.until("done", func() bool { return room.find(t, func(m message) bool { return m["type"] == "done" }) != nil })
			if got := b.get(s.ID); got.Status.Terminal() {
				t.Error("over before the client could answer")
			}
			if counted >= 0 {
				room.say(fmt.Sprintf(`{"type":"delivery_ack","published_frames":%d}`, counted))
			}
			got := b.ends(s.ID, streaming.ReasonFinished)
			b.until("the record knows", func() bool { got = b.get(s.ID); return got.Outcome == outcome })
			if counted >= 0 && (got.Facts.ConfirmedFrames == nil || *got.Facts.ConfirmedFrames != int64(counted)) || counted < 0 && got.Facts.ConfirmedFrames != nil {
				t.Errorf("%+v", got.Facts)
			}
			if got.Facts.PublishedFrames != losslessFrames || got.Facts.DroppedFrames != 0 {
				t.Errorf("%+v", got.Facts)
			}
			whole(t, room.shown())
			b.until("the room is gone", func() bool { return b.rooms.gone(s.Room) })
			statuses := room.heard(t, streaming.TopicStatus)
			if last := statuses[len(statuses)-1]; last.stage() != "delivery" || last.data()["outcome"] != outcome || last.data()["published_frames"] != float64(losslessFrames) {
				t.Errorf("the last status is %v", last)
			}
		})
	}
}

// TestLosslessHoldsTheSourceBack writes slowly: the source is never more than the queue ahead, and nothing is lost.
func TestLosslessHoldsTheSourceBack(t *testing.T) {
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{AckTimeout: 50 * time.Millisecond}, &engine{took: time.Microsecond})
	s := b.create(lossless)
	room := b.rooms.of(s.Room)
	room.slow = 15 * time.Millisecond
	room.enter("ann")
	b.until("half is shown", func() bool { return len(room.shown()) > losslessFrames/2 })
	made := 0
	for _, m := range room.heard(t, streaming.TopicMetrics) {
		if m["type"] == "chunk" {
			made++
		}
	}
	if ahead := made - len(room.shown())/framesPerChunk; ahead > 4 {
		t.Errorf("the source is %d chunks ahead", ahead)
	}
	b.ends(s.ID, streaming.ReasonFinished)
	whole(t, room.shown())
}

// TestLatestDropsAndCounts writes far too slowly: frames are dropped, counted, and what is shown is the newest.
func TestLatestDropsAndCounts(t *testing.T) {
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{}, &engine{took: time.Microsecond})
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	room.slow = 35 * time.Millisecond
	room.enter("ann")
	b.until("frames are dropped", func() bool { return b.get(s.ID).Facts.DroppedFrames > 20 })
	if _, err := b.store.End(t.Context(), "alice", s.ID, streaming.ReasonDeleted); err != nil {
		t.Fatal(err)
	}
	b.until("slot is free", func() bool { return b.health().WorkersIdle == 1 })
	f := b.get(s.ID).Facts
	if f.PublishedFrames != int64(len(room.shown())) || f.GeneratedFrames < f.PublishedFrames+f.DroppedFrames || f.GeneratedFrames > f.PublishedFrames+f.DroppedFrames+5*framesPerChunk {
		t.Errorf("%d shown, %+v", len(room.shown()), f)
	}
}

// TestStatusesDoNotWaitForMedia stalls the writer: a control is answered meanwhile.
func TestStatusesDoNotWaitForMedia(t *testing.T) {
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{}, &engine{took: time.Millisecond})
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	room.slow = 1500 * time.Millisecond
	room.enter("ann")
	b.until("it runs", func() bool { return room.find(t, func(m message) bool { return m.stage() == "runtime_ready" }) != nil })
	began := time.Now()
	room.say(`{"type":"control_state","controls":["w"]}`)
	b.until("the answer", func() bool { return room.find(t, func(m message) bool { return m.stage() == "control_state" }) != nil })
	if took := time.Since(began); took > time.Second {
		t.Errorf("answered after %v, behind the frame", took)
	}
}

// TestMediaServerRestart loses the room in the middle: the session comes back into it, and nothing is made meanwhile.
func TestMediaServerRestart(t *testing.T) {
	for name, c := range map[string]struct {
		spec func(*streaming.Spec)
	}{"latest": {nil}, "lossless": {lossless}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, quick())
			b.pool(streaming.PoolConfig{AckTimeout: 100 * time.Millisecond}, &engine{took: time.Microsecond})
			s := b.create(c.spec)
			room := b.rooms.of(s.Room)
			room.enter("ann")
			b.until("frames", func() bool { return len(room.shown()) > framesPerChunk })
			b.rooms.setDown(true)
			room.end(streaming.EventLost)
			b.until("its clients are unknown", func() bool { return b.get(s.ID).Participants == nil })
			before := len(room.shown())
			b.rooms.setDown(false)
			b.until("frames again", func() bool { return len(room.shown()) > before+framesPerChunk })
			if c.spec != nil {
				b.ends(s.ID, streaming.ReasonFinished)
				whole(t, room.shown())
			}
		})
	}
}

func TestMediaServerThatDoesNotComeBack(t *testing.T) {
	b := newBundle(t, quick())
	e := &engine{took: time.Millisecond}
	b.pool(streaming.PoolConfig{RejoinTimeout: 300 * time.Millisecond}, e)
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	room.enter("ann")
	b.until("frames", func() bool { return len(room.shown()) > 0 })
	b.rooms.setDown(true)
	room.end(streaming.EventLost)
	b.ends(s.ID, streaming.ReasonMediaLost)
	b.until("slot is free", func() bool { return b.health().WorkersIdle == 1 && e.live.Load() == 0 })
}

func TestADeletedRoomEndsItsSession(t *testing.T) {
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{}, &engine{took: time.Millisecond})
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	room.enter("ann")
	b.until("frames", func() bool { return len(room.shown()) > 0 })
	began := time.Now()
	room.end(streaming.EventRoomDeleted)
	b.ends(s.ID, streaming.ReasonRoomDeleted)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("ended after %v", took)
	}
	room.mu.Lock()
	defer room.mu.Unlock()
	if room.joins != 1 {
		t.Errorf("joined %d times", room.joins)
	}
}

// TestAStrangerInThePublishersPlace puts the publisher out though no newer epoch has the record: the session ends, and nobody fights for the place.
func TestAStrangerInThePublishersPlace(t *testing.T) {
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{}, &engine{took: time.Millisecond, keeps: true})
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	room.enter("ann")
	b.until("frames", func() bool { return len(room.shown()) > 0 })
	room.end(streaming.EventReplaced)
	b.ends(s.ID, streaming.ReasonReplaced)
	b.until("slot and room are gone", func() bool { return b.health().WorkersIdle == 1 && b.rooms.gone(s.Room) })
	room.mu.Lock()
	defer room.mu.Unlock()
	if room.joins != 1 {
		t.Errorf("joined %d times", room.joins)
	}
}

// TestNobodyComesBack loses a room with everybody in it: without them the session ends soon; with them it goes on, and has all its time when they leave again.
func TestNobodyComesBack(t *testing.T) {
	for name, back := range map[string]bool{"nobody": false, "somebody": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := quick()
			cfg.ReturnTimeout = 500 * time.Millisecond
			b := newBundle(t, cfg)
			b.reaper()
			b.pool(streaming.PoolConfig{}, &engine{took: time.Millisecond})
			s := b.create(nil)
			room := b.rooms.of(s.Room)
			room.enter("ann")
			b.until("frames, and the record knows for whom", func() bool {
				p := b.get(s.ID).Participants
				return len(room.shown()) > 0 && p != nil && *p == 1
			})
			room.forget()
			if !back {
				b.ends(s.ID, streaming.ReasonRoomEmpty)
				return
			}
			b.until("it is in the room again", func() bool { room.mu.Lock(); defer room.mu.Unlock(); return room.joins == 2 && room.pub != nil })
			room.enter("ann")
			before := len(room.shown())
			b.until("frames again", func() bool { return len(room.shown()) > before+framesPerChunk })
			room.depart("ann")
			b.until("the record knows", func() bool { p := b.get(s.ID).Participants; return p != nil && *p == 0 })
			<-time.After(2 * cfg.ReturnTimeout)
			if got := b.get(s.ID); got.Status.Terminal() {
				t.Errorf("ended as %s", got.Reason)
			}
		})
	}
}

// TestNothingIsMadeForNobody empties the room, or takes its connection away for a moment: generation pauses, and goes on afterwards.
func TestNothingIsMadeForNobody(t *testing.T) {
	t.Run("room empty", func(t *testing.T) {
		rests(t, func(b *bundle, id string, room *room) {
			room.depart("ann")
			b.until("the record knows", func() bool { p := b.get(id).Participants; return p != nil && *p == 0 })
		}, func(room *room) { room.enter("ann") })
	})
	t.Run("connection away", func(t *testing.T) {
		rests(t, func(_ *bundle, _ string, room *room) { room.event(streaming.Event{Kind: streaming.EventAway}) },
			func(room *room) { room.event(streaming.Event{Kind: streaming.EventReconnected}) })
	})
}

// rests plays until pause, wants generation to rest from then on, and to go on when resumed.
func rests(t *testing.T, pause func(b *bundle, id string, room *room), resume func(*room)) {
	t.Helper()
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{}, &engine{took: time.Millisecond})
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	room.enter("ann")
	b.until("frames", func() bool { return len(room.shown()) > framesPerChunk })
	pause(b, s.ID, room)
	generating := func() int {
		n := 0
		for _, m := range room.heard(t, streaming.TopicStatus) {
			if m.stage() == "generating_chunk" {
				n++
			}
		}
		return n
	}
	var before int
	b.until("generation rests", func() bool {
		before = generating()
		<-time.After(5 * framesPerChunk * 10 * time.Millisecond)
		return generating() == before
	})
	resume(room)
	b.until("it goes on", func() bool { return generating() > before+2 })
}
