package streaming_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"telefuser/streaming"
)

func TestDrainTakesNoMoreAndLetsLiveSessionsFinish(t *testing.T) {
	b := newBundle(t, quick())
	b.reaper()
	e := &engine{took: time.Microsecond}
	_, stop := b.pool(streaming.PoolConfig{Grace: time.Minute}, e)
	s := b.create(func(s *streaming.Spec) { s.Frames = 20 * framesPerChunk })
	room := b.rooms.of(s.Room)
	room.enter("ann")
	b.until("frames", func() bool { return len(room.shown()) > 0 })
	drained := make(chan struct{})
	go func() {
		stop()
		close(drained)
	}()
	b.until("draining", func() bool { w := b.health().Workers; return len(w) == 1 && w[0].Status == streaming.WorkerDraining })
	if later := b.create(nil); later.Status != streaming.StatusQueued {
		t.Errorf("a draining worker was given %+v", later)
	}
	b.ends(s.ID, streaming.ReasonFinished)
	<-drained
	if h := b.health(); h.WorkersTotal != 0 {
		t.Errorf("%+v", h)
	}
}

func TestDrainEndsOrHandsOverAfterItsGrace(t *testing.T) {
	for name, keeps := range map[string]bool{"no state": false, "state kept": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, quick())
			b.reaper()
			_, stop := b.pool(streaming.PoolConfig{Grace: 100 * time.Millisecond}, &engine{took: time.Microsecond, keeps: keeps})
			s := b.create(nil)
			room := b.rooms.of(s.Room)
			room.enter("ann")
			b.until("frames", func() bool { return b.get(s.ID).Facts.Chunks > 1 })
			e := &engine{took: time.Microsecond, keeps: true}
			b.pool(streaming.PoolConfig{}, e)
			stop()
			if !keeps {
				b.ends(s.ID, streaming.ReasonDrained)
				return
			}
			b.until("the other goes on", func() bool { f := room.shown(); return f[len(f)-1].epoch == 2 })
			b.until("the record says so", func() bool { got := b.get(s.ID); return got.Status == streaming.StatusRunning && got.Epoch == 2 })
			e.mu.Lock()
			defer e.mu.Unlock()
			got := e.opened[0]
			// The state is that after the last chunk shown. Chunks that were dropped on a busy machine lie before it and are not completed.
			shown := got.Facts.CompletedFrames
			if after := int64(framesPerChunk * atoi(t, got.State)); got.State == nil || after < shown || after > shown+got.Facts.DroppedFrames {
				t.Errorf("opened with %q after %+v", got.State, got.Facts)
			}
		})
	}
}

func atoi(t *testing.T, state []byte) int {
	t.Helper()
	n := 0
	for _, c := range state {
		if c < '0' || c > '9' {
			t.Fatalf("state %q", state)
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// freezer lets nothing of a pool through to Redis while it is on, as if its process were stopped.
type freezer struct{ on chan struct{} }

var errFrozen = errors.New("frozen")

func (f freezer) frozen() bool {
	select {
	case <-f.on:
		return true
	default:
		return false
	}
}

func (f freezer) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (f freezer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if f.frozen() {
			return errFrozen
		}
		return next(ctx, cmd)
	}
}

func (f freezer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// TestTheNewerEpochPutsTheOlderOut cuts a pool from Redis. Its session goes on elsewhere; the older publisher is put out of the room, its source is closed, and
// no frame of the older epoch comes after the first of the newer.
func TestTheNewerEpochPutsTheOlderOut(t *testing.T) {
	b := newBundle(t, quick())
	b.reaper()
	cut := *b
	rdb := redis.NewClient(&redis.Options{Network: shared.Network, Addr: shared.Addr, MaxRetries: -1})
	defer func() {
		if err := rdb.Close(); err != nil {
			t.Error(err)
		}
	}()
	freeze := freezer{make(chan struct{})}
	rdb.AddHook(freeze)
	cfg := quick()
	cfg.Prefix = b.prefix
	var err error
	if cut.store, err = streaming.New(cfg, rdb, b.log); err != nil {
		t.Fatal(err)
	}
	older := &engine{took: time.Microsecond, keeps: true}
	p, err := streaming.NewPool(streaming.PoolConfig{Owner: "older", Pipeline: "terrain", Grace: -1}, cut.store, []streaming.Engine{older}, b.rooms, b.log)
	if err != nil {
		t.Fatal(err)
	}
	stop := b.runs(p.Run)
	b.until("worker is up", func() bool { return b.health().WorkersIdle == 1 })
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	room.enter("ann")
	b.until("the state is kept", func() bool { return b.get(s.ID).State != nil })
	newer := &engine{took: time.Microsecond, keeps: true}
	b.pool(streaming.PoolConfig{}, newer)
	close(freeze.on)
	froze := time.Now()
	b.until("the newer shows frames", func() bool { f := room.shown(); return f[len(f)-1].epoch == 2 })
	t.Logf("taken over %v after the cut, with a lease of %v", time.Since(froze).Round(time.Millisecond), quick().LeaseTTL)
	b.until("the older source is closed", func() bool { return older.live.Load() == 0 })
	frames := room.shown()
	for i := 1; i < len(frames); i++ {
		if frames[i].epoch < frames[i-1].epoch {
			t.Fatal("a frame of the older epoch after the newer came")
		}
	}
	if got := b.get(s.ID); got.Epoch != 2 || got.Status.Terminal() {
		t.Errorf("%+v", got)
	}
	stop()
}

func TestPoolConfig(t *testing.T) {
	b := newBundle(t, streaming.Config{})
	good := streaming.PoolConfig{Owner: "o", Pipeline: "terrain"}
	for name, spoil := range map[string]func(*streaming.PoolConfig){
		"owner":    func(c *streaming.PoolConfig) { c.Owner = "a b" },
		"pipeline": func(c *streaming.PoolConfig) { c.Pipeline = "" },
		"sessions": func(c *streaming.PoolConfig) { c.SessionsPerWorkerMax = -1 },
		"timeouts": func(c *streaming.PoolConfig) { c.TimeSlice = -1 },
		"controls": func(c *streaming.PoolConfig) { c.ControlsPerSecondMax = -1 },
		"bitrate":  func(c *streaming.PoolConfig) { c.BitrateBitsPerSecond = 1 },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := streaming.NewPool(cfg, b.store, []streaming.Engine{&engine{}}, b.rooms, b.log); !errors.Is(err, streaming.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := streaming.NewPool(good, b.store, nil, b.rooms, b.log); !errors.Is(err, streaming.ErrInvalid) {
		t.Errorf("no engines: %v", err)
	}
	for name, cfg := range map[string]streaming.Config{
		"prefix": {Prefix: "A b"}, "lease": {LeaseTTL: time.Millisecond}, "renew": {RenewEvery: 5 * time.Second}, "worker": {WorkerTTL: time.Second},
		"reap": {ReapEvery: 5 * time.Second}, "tenant": {SessionsPerTenantMax: -1}, "deaths": {DeathsMax: -1}, "queue": {QueueTimeout: -1},
	} {
		if err := cfg.Validate(); !errors.Is(err, streaming.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := streaming.New(streaming.Config{}, nil, nil); !errors.Is(err, streaming.ErrInvalid) {
		t.Error(err)
	}
}
