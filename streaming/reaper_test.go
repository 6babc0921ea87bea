package streaming_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"telefuser/streaming"
)

// TestTimeouts lets every deadline pass, with an owner that is well.
func TestTimeouts(t *testing.T) {
	const soon = 300 * time.Millisecond
	for reason, c := range map[string]struct {
		cfg   func(*streaming.Config)
		spec  func(*streaming.Spec)
		enter []string
		leave []string
	}{
		streaming.ReasonSessionTimeout:   {spec: func(s *streaming.Spec) { s.SessionTimeout = soon }, enter: []string{"ann"}},
		streaming.ReasonControllerAbsent: {cfg: func(c *streaming.Config) { c.ControllerTimeout = soon }, enter: []string{"ann", "viewer"}, leave: []string{"ann"}},
		streaming.ReasonRoomEmpty:        {cfg: func(c *streaming.Config) { c.RoomEmptyTimeout = soon }, enter: []string{"ann"}, leave: []string{"ann"}},
		streaming.ReasonControlIdle:      {cfg: func(c *streaming.Config) { c.ControlIdleMax = soon }, enter: []string{"ann"}},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			cfg := quick()
			if c.cfg != nil {
				c.cfg(&cfg)
			}
			b := newBundle(t, cfg)
			b.reaper()
			b.pool(streaming.PoolConfig{}, &engine{took: time.Millisecond})
			s := b.create(c.spec)
			room := b.rooms.of(s.Room)
			for _, id := range c.enter {
				room.enter(id)
			}
			b.until("frames", func() bool { return len(room.shown()) > 0 || b.get(s.ID).Status.Terminal() })
			for _, id := range c.leave {
				room.depart(id)
			}
			b.ends(s.ID, reason)
			b.until("slot and room are gone", func() bool { return b.health().WorkersIdle == 1 && b.rooms.gone(s.Room) })
			if room.find(t, func(m message) bool { return m["type"] == "done" && m["reason"] == reason }) == nil {
				t.Error("the room was not told")
			}
		})
	}
}

func TestQueueTimeout(t *testing.T) {
	cfg := quick()
	cfg.QueueTimeout, cfg.WorkerTTL = 200*time.Millisecond, time.Minute
	b := newBundle(t, cfg)
	b.idle("w", 1)
	claimed := b.create(nil)
	if _, err := b.store.Claim(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	s := b.create(nil)
	b.until("due", func() bool {
		if err := b.store.Reap(t.Context(), b.rooms); err != nil {
			t.Fatal(err)
		}
		return b.get(s.ID).Status.Terminal()
	})
	b.ends(s.ID, streaming.ReasonQueueTimeout)
	b.until("its room is closed", func() bool { return b.store.Reap(t.Context(), b.rooms) == nil && b.rooms.gone(s.Room) })
	_ = claimed
}

// TestPresenceStopsTheClocks moves a controller in and out within the grace: the session goes on.
func TestPresenceStopsTheClocks(t *testing.T) {
	cfg := short()
	cfg.ControllerTimeout, cfg.RoomEmptyTimeout, cfg.LeaseTTL = 300*time.Millisecond, 300*time.Millisecond, time.Minute
	b := newBundle(t, cfg)
	b.idle("w", 1)
	s := b.create(nil)
	ctx := t.Context()
	c, err := b.store.Claim(ctx, "w")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for present := true; time.Since(began) < time.Second; present = !present {
		clients := 0
		if present {
			clients = 1
		}
		if err := c.See(ctx, clients, present, true); err != nil {
			t.Fatal(err)
		}
		<-time.After(100 * time.Millisecond)
		if err := b.store.Reap(ctx, b.rooms); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.get(s.ID); got.Status.Terminal() {
		t.Fatalf("ended as %s", got.Reason)
	}
	if err := c.See(ctx, -1, false, false); err != nil { // nobody knows who is there: that is no absence
		t.Fatal(err)
	}
	<-time.After(400 * time.Millisecond)
	if err := b.store.Reap(ctx, b.rooms); err != nil {
		t.Fatal(err)
	}
	if got := b.get(s.ID); got.Status.Terminal() || got.Participants != nil {
		t.Fatalf("%+v", got)
	}
}

// TestControlsKeepASessionAlive sends controls more often than the longest time without one.
func TestControlsKeepASessionAlive(t *testing.T) {
	cfg := short()
	cfg.ControlIdleMax, cfg.LeaseTTL = 400*time.Millisecond, time.Minute
	b := newBundle(t, cfg)
	b.idle("w", 1)
	s := b.create(nil)
	c, err := b.store.Claim(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < time.Second; <-time.After(50 * time.Millisecond) {
		if err := c.See(t.Context(), 1, true, true); err != nil {
			t.Fatal(err)
		}
		if err := b.store.Reap(t.Context(), b.rooms); err != nil {
			t.Fatal(err)
		}
	}
	b.until("the controls stopped", func() bool {
		return b.store.Reap(t.Context(), b.rooms) == nil && b.get(s.ID).Status.Terminal()
	})
	b.ends(s.ID, streaming.ReasonControlIdle)
}

// TestFrozenWorker freezes a worker in the middle: its session goes on at another worker from its state, and the old owner, awake again, changes nothing.
func TestFrozenWorker(t *testing.T) {
	for name, keeps := range map[string]bool{"state kept": true, "no state": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, quick())
			b.reaper()
			ctx := t.Context()
			if _, err := b.store.Heartbeat(ctx, streaming.Worker{ID: "frozen", Pipeline: "terrain", Status: streaming.WorkerReady, Slots: 1}); err != nil {
				t.Fatal(err)
			}
			s := b.create(nil)
			c, err := b.store.Claim(ctx, "frozen")
			if err != nil || c == nil {
				t.Fatal(err)
			}
			var state []byte
			if keeps {
				state = []byte("5")
			}
			if err := c.Note(ctx, streaming.StatusRunning, state, true); err != nil {
				t.Fatal(err)
			}
			froze := time.Now() // from here on nothing of it is heard
			e := &engine{took: time.Millisecond, keeps: keeps}
			p, _ := b.pool(streaming.PoolConfig{}, e)
			room := b.rooms.of(s.Room)
			room.enter("ann")
			if !keeps {
				b.ends(s.ID, streaming.ReasonWorkerLost)
				b.until("the room is closed", func() bool { return b.rooms.gone(s.Room) })
				return
			}
			b.until("it goes on", func() bool { return len(room.shown()) > 0 })
			t.Logf("frames again after %v with a lease of %v", time.Since(froze).Round(time.Millisecond), quick().LeaseTTL)
			if f := room.shown()[0]; f.first != 5*framesPerChunk || f.epoch != 2 {
				t.Errorf("went on with frame %d in epoch %d", f.first, f.epoch)
			}
			if err := c.Note(ctx, streaming.StatusRunning, []byte("6"), true); !errors.Is(err, streaming.ErrStale) {
				t.Errorf("the old owner writes: %v", err)
			}
			if got := b.get(s.ID); got.Epoch != 2 || got.Worker != p.WorkerIDs()[0] {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestUnclaimedSessionGoesElsewhere assigns a session to a worker that never claims it.
func TestUnclaimedSessionGoesElsewhere(t *testing.T) {
	b := newBundle(t, quick())
	b.reaper()
	b.idle("dead", 1)
	s := b.create(nil)
	if s.Worker != "dead" {
		t.Fatalf("%+v", s)
	}
	e := &engine{took: time.Millisecond}
	b.pool(streaming.PoolConfig{}, e)
	b.until("claimed by the other", func() bool { got := b.get(s.ID); return got.Epoch == 1 && got.Worker != "dead" })
}

// TestNobodyWaitsForEver loses the owner of a session whose state is kept while nobody else is there.
func TestNobodyWaitsForEver(t *testing.T) {
	cfg := quick()
	cfg.ReassignTimeout = 200 * time.Millisecond
	b := newBundle(t, cfg)
	b.reaper()
	b.idle("w", 1)
	s := b.create(nil)
	c, err := b.store.Claim(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Note(t.Context(), streaming.StatusRunning, []byte("5"), true); err != nil {
		t.Fatal(err)
	}
	b.ends(s.ID, streaming.ReasonWorkerLost)
	b.until("the worker is forgotten", func() bool { return b.health().WorkersTotal == 0 })
}

// TestALostEngineHandsOver kills the engine under a session: before its first frame and with its state it goes on, and after three engines it ends.
func TestALostEngineHandsOver(t *testing.T) {
	b := newBundle(t, quick())
	b.reaper()
	e := &engine{took: time.Millisecond, keeps: true}
	deaths := 0
	e.fail = func(chunk int) error {
		if chunk > 0 && chunk%3 == 0 && deaths < chunk/3 {
			deaths = chunk / 3
			return errors.Join(errors.New("killed"), streaming.ErrEngineLost)
		}
		return nil
	}
	b.pool(streaming.PoolConfig{}, e)
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	room.enter("ann")
	b.ends(s.ID, streaming.ReasonWorkerLost)
	got := b.get(s.ID)
	if got.Epoch != 3 {
		t.Errorf("%d epochs", got.Epoch)
	}
	if room.find(t, func(m message) bool { return m.stage() == "reassigning" }) == nil {
		t.Error("the room was not told that another owner comes")
	}
}

func TestARoomThatDoesNotCloseIsTriedAgain(t *testing.T) {
	b := newBundle(t, short())
	b.idle("w", 1)
	s := b.create(nil)
	b.rooms.setDown(true)
	if _, err := b.store.End(t.Context(), "alice", s.ID, streaming.ReasonDeleted); err != nil {
		t.Fatal(err)
	}
	if err := b.store.Reap(t.Context(), b.rooms); err != nil {
		t.Fatal(err)
	}
	if n, err := b.rdb.ZCard(t.Context(), b.prefix+":live:rooms").Result(); err != nil || n != 1 {
		t.Fatalf("%d rooms wait for another try: %v", n, err)
	}
	b.rooms.setDown(false)
	if err := b.rdb.ZAdd(t.Context(), b.prefix+":live:rooms", zero(s.Room)).Err(); err != nil { // its pause is over
		t.Fatal(err)
	}
	if err := b.store.Reap(t.Context(), b.rooms); err != nil || !b.rooms.gone(s.Room) {
		t.Fatal("not closed", err)
	}
}

func TestReaperDistrustsLeasesAfterSilence(t *testing.T) {
	cfg := short()
	b := newBundle(t, cfg)
	b.idle("w", 1)
	s := b.create(nil)
	c, err := b.store.Claim(t.Context(), "w")
	if err != nil || c == nil {
		t.Fatal(err)
	}
	<-time.After(cfg.LeaseTTL + 50*time.Millisecond) // as if Redis had been away: the lease is over, its owner is well
	b.reaper()
	<-time.After(cfg.LeaseTTL / 2)
	if got := b.get(s.ID); got.Epoch != 1 || got.Status != streaming.StatusJoiningRoom {
		t.Fatalf("taken from an owner that had no time to renew: %+v", got)
	}
	if gone, err := b.store.Heartbeat(t.Context(), streaming.Worker{ID: "w", Pipeline: "terrain", Status: streaming.WorkerReady, Slots: 1}, c); err != nil || len(gone) != 0 {
		t.Fatal(gone, err)
	}
}

// zero is a member whose time has come.
func zero(member string) redis.Z { return redis.Z{Member: member} }
