package streaming_test

import (
	"errors"
	"testing"
	"time"

	"telefuser/streaming"
)

// TestSessionsFlow runs a session from create to delete: its words, its record, its slot and its room.
func TestSessionsFlow(t *testing.T) {
	b := newBundle(t, quick())
	e := &engine{took: time.Millisecond}
	b.pool(streaming.PoolConfig{}, e)
	s := b.create(nil)
	if s.Status != streaming.StatusAssigned {
		t.Fatalf("%+v", s)
	}
	room := b.rooms.of(s.Room)
	b.until("publisher is there", func() bool { return room.find(t, func(m message) bool { return m.stage() == "runtime_ready" }) != nil })
	if n := len(room.shown()); n != 0 {
		t.Errorf("%d frames were shown to nobody", n)
	}
	room.enter("ann")
	room.enter("viewer")
	b.until("frames flow", func() bool { return len(room.shown()) > 3*framesPerChunk })
	b.until("the record knows", func() bool {
		got := b.get(s.ID)
		return got.Status == streaming.StatusRunning && got.Participants != nil && *got.Participants == 2 && got.Facts.FirstFrameNS != nil && got.Facts.Chunks > 0
	})
	if h := b.health(); !h.MediaConnected || h.WorkersBusy != 1 || h.Status() != "healthy" {
		t.Errorf("%+v", h)
	}
	ended, err := b.store.End(t.Context(), "alice", s.ID, streaming.ReasonDeleted)
	if err != nil || ended.Status != streaming.StatusClosed {
		t.Fatalf("%+v %v", ended, err)
	}
	again, err := b.store.End(t.Context(), "alice", s.ID, streaming.ReasonStopped)
	if err != nil || again.Reason != streaming.ReasonDeleted {
		t.Errorf("the second end changed the first: %+v %v", again, err)
	}
	b.until("the room is closed", func() bool { return b.rooms.gone(s.Room) })
	b.until("the slot is free", func() bool { h := b.health(); return h.WorkersIdle == 1 && h.SlotsBusy == 0 && !h.MediaConnected })
	if e.live.Load() != 0 {
		t.Error("the source is still open")
	}
	done := room.find(t, func(m message) bool { return m["type"] == "done" })
	if done == nil || done["reason"] != "deleted" || done["published_frames"] == nil || done["total_chunks"] == nil {
		t.Errorf("last words: %v", done)
	}
	if got := b.get(s.ID); got.Facts.PublishedFrames == 0 || got.Facts.EncodeNS == nil {
		t.Errorf("the facts came too late for the record: %+v", got.Facts)
	}
}

// TestMessagesOfASession checks the names and fields of what a client reads.
func TestMessagesOfASession(t *testing.T) {
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{}, &engine{took: time.Millisecond})
	s := b.create(func(s *streaming.Spec) { s.Frames = 3 * framesPerChunk })
	room := b.rooms.of(s.Room)
	room.enter("ann")
	b.ends(s.ID, streaming.ReasonFinished)
	for stage, names := range map[string][]string{
		"worker_running":   {"worker_id"},
		"runtime_ready":    {"width", "height", "stream_progress", "measurement"},
		"generating_chunk": {"controls", "prefetched"},
		"chunk_sent": {"index", "controls", "frames", "output_cadence_seconds", "pipeline_residence_seconds", "applied_control_latency_seconds",
			"chunk_elapsed_seconds", "control_to_chunk_seconds", "runtime_metrics", "stream_progress", "measurement", "transport_measurement"},
		"runtime_summary": {"runtime_metrics"},
	} {
		m := room.find(t, func(m message) bool { return m.stage() == stage })
		if m == nil {
			t.Errorf("no %s", stage)
			continue
		}
		if m["type"] != "chunk" || m["session_id"] != s.ID || m["timestamp"] == nil || m.data()["type"] != "status" {
			t.Errorf("%s: %v", stage, m)
		}
		for _, name := range names {
			if _, there := m.data()[name]; !there {
				t.Errorf("%s has no %s", stage, name)
			}
		}
	}
	first := room.heard(t, streaming.TopicStatus)[0]
	if first.stage() != "worker_running" {
		t.Errorf("the first message is %v", first)
	}
	sentChunk := room.find(t, func(m message) bool { return m.stage() == "chunk_sent" })
	if sentChunk["index"] != 0.0 || sentChunk.data()["frames"] != float64(framesPerChunk) || sentChunk.data()["applied_control_latency_seconds"] != nil {
		t.Errorf("%v", sentChunk)
	}
	done := room.find(t, func(m message) bool { return m["type"] == "done" })
	if done["published_frames"] != float64(3*framesPerChunk) || done["total_chunks"] != 3.0 {
		t.Errorf("%v", done)
	}
	kinds := map[any]bool{}
	for _, m := range room.heard(t, streaming.TopicMetrics) {
		kinds[m["type"]] = true
		if m["utc"] == nil {
			t.Errorf("no source stamp: %v", m)
		}
		for _, name := range []string{"duration_ns", "residence_ns"} {
			if v, there := m[name].(float64); there && v < 0 {
				t.Errorf("%s below zero: %v", name, m)
			}
		}
	}
	if !kinds["runtime"] || !kinds["phase"] || !kinds["chunk"] {
		t.Errorf("facts of kinds %v", kinds)
	}
}

func TestAFailedPipelineEndsItsSession(t *testing.T) {
	for name, e := range map[string]*engine{
		"open":                         {open: func() error { return errors.New("no such picture") }},
		"open, while the room is slow": {open: func() error { return errors.New("no such picture") }},
		"next": {fail: func(chunk int) error {
			if chunk == 2 {
				return errors.New("cannot")
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBundle(t, quick())
			if name == "open, while the room is slow" {
				b.rooms.joinTakes = 100 * time.Millisecond
			}
			b.pool(streaming.PoolConfig{}, e)
			s := b.create(nil)
			room := b.rooms.of(s.Room)
			room.enter("ann")
			b.ends(s.ID, streaming.ReasonPipelineFailed)
			b.until("the client is told", func() bool {
				m := room.find(t, func(m message) bool { return m["error"] != nil })
				return m != nil && m.data()["type"] == "error" && m.data()["stage"] == "worker_failed"
			})
			b.until("slot and source are free", func() bool { return e.live.Load() == 0 && b.health().WorkersIdle == 1 })
		})
	}
}

// TestSlotsComeBack runs 200 sessions that end in different ways; slots, sources and keys are back at the beginning.
func TestSlotsComeBack(t *testing.T) {
	cfg := quick()
	cfg.RetentionTTL, cfg.QueueMax, cfg.SessionsPerTenantMax = 100*time.Millisecond, 300, 300
	b := newBundle(t, cfg)
	b.reaper()
	e := &engine{took: time.Microsecond, fail: func(chunk int) error {
		if chunk == 1 {
			return errors.New("cannot")
		}
		return nil
	}}
	b.pool(streaming.PoolConfig{SessionsPerWorkerMax: 8}, e)
	var ids []string
	for i := range 200 {
		s := b.create(func(s *streaming.Spec) {
			if i%4 == 0 {
				s.Frames = framesPerChunk
			}
		})
		room := b.rooms.of(s.Room)
		room.enter("ann")
		ids = append(ids, s.ID)
		if i%4 == 1 {
			if _, err := b.store.End(t.Context(), "alice", s.ID, streaming.ReasonDeleted); err != nil {
				t.Fatal(err)
			}
		}
		if i%4 == 2 {
			room.say(`{"type":"stop"}`)
		}
	}
	b.until("all have ended and are forgotten", func() bool {
		page, _, err := b.store.List(t.Context(), streaming.ListRequest{})
		return err == nil && len(page) == 0
	})
	b.until("slots are free", func() bool { h := b.health(); return h.SlotsBusy == 0 && h.WorkersIdle == 1 && e.live.Load() == 0 })
	if e.liveMax.Load() > 8 {
		t.Errorf("%d sessions on 8 slots", e.liveMax.Load())
	}
	b.until("no keys are left", func() bool { return len(b.keys()) == 0 })
	for _, id := range ids {
		if _, err := b.store.Get(t.Context(), "alice", id); !errors.Is(err, streaming.ErrNotFound) {
			t.Fatal(id, err)
		}
	}
}

func TestTheModelIsSharedByLease(t *testing.T) {
	b := newBundle(t, quick())
	e := &engine{took: 5 * time.Millisecond}
	b.pool(streaming.PoolConfig{SessionsPerWorkerMax: 3}, e)
	var all []*room
	for range 3 {
		s := b.create(nil)
		room := b.rooms.of(s.Room)
		room.enter("ann")
		all = append(all, room)
	}
	b.until("all three fly", func() bool {
		for _, r := range all {
			if len(r.shown()) < 20 {
				return false
			}
		}
		return true
	})
	if e.twoAtOnce.Load() {
		t.Error("two sessions used the model at once")
	}
}

func TestLeaseStatuses(t *testing.T) {
	b := newBundle(t, quick())
	e := &engine{took: 400 * time.Millisecond}
	b.pool(streaming.PoolConfig{SessionsPerWorkerMax: 2, TimeSlice: 500 * time.Millisecond}, e)
	var all []*room
	for range 2 {
		s := b.create(func(s *streaming.Spec) { s.ControlIdleTimeout = time.Second })
		room := b.rooms.of(s.Room)
		room.enter("ann")
		all = append(all, room)
	}
	for _, stage := range []string{"lease_queued", "lease_granted", "lease_parked"} {
		b.until(stage, func() bool {
			all[0].say(`{"type":"control_state","controls":["w"]}`)
			return all[0].find(t, func(m message) bool { return m.stage() == stage }) != nil || all[1].find(t, func(m message) bool { return m.stage() == stage }) != nil
		})
	}
}

func TestPoolIsNotReadyBeforeItsEngine(t *testing.T) {
	b := newBundle(t, quick())
	e := &engine{}
	e.notReady.Store(true)
	b.pool(streaming.PoolConfig{}, e)
	if h := b.health(); h.Ready() || h.Status() != "unhealthy" || h.WorkersFailed != 0 || h.WorkersTotal != 1 {
		t.Fatalf("starting: %+v", h)
	}
	s := b.create(nil)
	if s.Status != streaming.StatusQueued || s.Position != 1 {
		t.Fatalf("%+v", s)
	}
	e.notReady.Store(false)
	b.until("it is claimed", func() bool { return b.get(s.ID).Epoch == 1 })
	e.notReady.Store(true)
	b.until("failed", func() bool { h := b.health(); return h.WorkersFailed == 1 && h.Status() == "unhealthy" })
	e.notReady.Store(false)
	b.until("mended", func() bool { return b.health().Status() == "healthy" })
}
