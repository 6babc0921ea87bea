package api_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"telefuser/jobs"
	"telefuser/streaming"
	"telefuser/workers/media"
)

// live is the live half of a stack: real records in a real Redis, and a media server of a few lines.
type live struct {
	store *streaming.Store
	rooms *rooms
}

// withSessions turns live sessions on.
func withSessions(t testing.TB, l *live, change ...func(*streaming.Config)) func(*setup) {
	return func(in *setup) {
		client, err := jobs.Connect(t.Context(), jobs.RedisConfig{Addr: in.redis, ReplyTimeout: 500 * time.Millisecond})
		if err != nil && !errors.Is(err, jobs.ErrUnavailable) {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		cfg := streaming.Config{Prefix: in.jobs.Prefix, QueueMax: -1, LeaseTTL: 600 * time.Millisecond, RenewEvery: 50 * time.Millisecond, WorkerTTL: time.Second, ReapEvery: 50 * time.Millisecond,
			SessionTimeout: 30 * time.Minute}
		for _, c := range change {
			c(&cfg)
		}
		if l.store, err = streaming.New(cfg, client, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		l.rooms = &rooms{there: map[string]bool{}, joined: map[string]bool{}}
		in.deps.Sessions, in.deps.Rooms = l.store, l.rooms
	}
}

// queued lets sessions wait.
func queued(c *streaming.Config) { c.QueueMax = 2 }

// work runs a worker for terrain with that many slots until the test ends, and returns when it is in the registry.
func (l *live) work(t testing.TB, slots int, e *liveEngine) {
	t.Helper()
	pool, err := streaming.NewPool(streaming.PoolConfig{Owner: "test", Pipeline: "terrain", SessionsPerWorkerMax: slots, Grace: time.Millisecond,
		Devices: [][]string{{"cpu"}}}, l.store, []streaming.Engine{e}, l.rooms, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	all.Go(func() { _ = pool.Run(ctx) })
	all.Go(func() { _ = l.store.Run(ctx, l.rooms) })
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	eventually(t, "the worker is in the registry", func() bool {
		h, err := l.store.Health(t.Context(), "")
		return err == nil && h.WorkersTotal == 1
	})
}

// liveEngine opens sessions that wait for their end.
type liveEngine struct {
	mu       sync.Mutex
	loading  bool
	failOpen error
	opened   []streaming.Session
}

func (e *liveEngine) set(change func(*liveEngine)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(e)
}

func (e *liveEngine) Ready() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.loading {
		return errors.New("loading")
	}
	return nil
}

func (e *liveEngine) Open(_ context.Context, s streaming.Session) (streaming.Source, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened = append(e.opened, s)
	return &liveSource{spec: s.Spec}, e.failOpen
}

func (e *liveEngine) sessions() []streaming.Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.opened)
}

// liveSource makes one frame and then none.
type liveSource struct {
	spec streaming.Spec
	made int
}

func (s *liveSource) Next(ctx context.Context) (streaming.Chunk, error) {
	if s.made++; s.made > 1 {
		<-ctx.Done()
		return streaming.Chunk{}, ctx.Err()
	}
	return streaming.Chunk{Frames: []media.Frame{media.NewFrame(s.spec.Width, s.spec.Height)}}, nil
}

func (s *liveSource) Control(context.Context, streaming.Control) error { return nil }
func (s *liveSource) Close() error                                     { return nil }

// rooms is a media server that lets publishers in and shows nothing to anybody.
type rooms struct {
	mu            sync.Mutex
	there, joined map[string]bool
	made          int
	down          error
}

func (r *rooms) Create(_ context.Context, room string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down == nil {
		r.there[room] = true
		r.made++
	}
	return r.down
}

func (r *rooms) Delete(_ context.Context, room string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.there, room)
	return nil
}

func (r *rooms) count() (there, made int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.there), r.made
}

func (r *rooms) Token(room, identity string, role streaming.Role, ttl time.Duration) (string, error) {
	return strings.Join([]string{room, identity, string(role), ttl.String()}, " "), nil
}

func (r *rooms) URL() string { return "ws://media.example" }

func (r *rooms) Check(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down
}

func (r *rooms) Join(_ context.Context, j streaming.Join) (streaming.Publisher, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.there[j.Room] {
		return nil, fmt.Errorf("there is no room %s", j.Room)
	}
	r.joined[j.Room] = true
	p := &publisher{events: make(chan streaming.Event, 1)}
	p.events <- streaming.Event{Kind: streaming.EventJoined, Identity: j.Controller}
	return p, nil
}

// publisher throws everything away.
type publisher struct {
	events chan streaming.Event
	once   sync.Once
}

func (p *publisher) WaitSubscribed(context.Context, string) error { return nil }
func (p *publisher) WriteFrame(context.Context, media.Frame, time.Duration, time.Time) (streaming.Encoding, error) {
	return streaming.Encoding{}, nil
}
func (p *publisher) WriteSound(media.Sound, time.Duration) error      { return nil }
func (p *publisher) Send(context.Context, string, []byte, bool) error { return nil }
func (p *publisher) Events() <-chan streaming.Event                   { return p.events }
func (p *publisher) Close() error {
	p.once.Do(func() { close(p.events) })
	return nil
}
