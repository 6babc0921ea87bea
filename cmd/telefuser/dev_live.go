package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"telefuser/internal/devstack"
	"telefuser/streaming"
	"telefuser/workers/media"
)

// startDevLive prepares live sessions and starts their media server beside everything else, which does not wait for it. Where there is none, it says in one
// line how to get it. stop ends what it started, and is called when nobody needs it any more.
func startDevLive(ctx context.Context, p *parts, wanted bool) (stop func(), err error) {
	stop = func() {}
	if !wanted {
		return stop, nil
	}
	c, err := contractOf(p.cfg.Models.Default)
	if err != nil {
		return stop, err
	}
	if c.BatchOnly {
		p.log.Warn("no live sessions: " + p.cfg.Models.Default + " makes whole videos")
		return stop, nil
	}
	rooms := newLateRooms()
	if p.cfg.LiveKit.URL != "" {
		given, err := openRooms(p.cfg.LiveKit, p.log)
		if err != nil {
			return stop, err
		}
		rooms.set(given)
	} else if _, err := devstack.LookTool("livekit-server"); err != nil {
		p.log.Warn("no livekit-server in the tools folder or on PATH: no live sessions; `make tools-live` gets it")
		return stop, nil //nolint:nilerr // batch alone is an ordinary stack
	}
	if p.live, err = openLive(p, rooms); err != nil {
		return stop, err
	}
	p.live.begin = make(chan struct{})
	err = p.live.addWorkers(ctx, p, p.cfg.Models.Default)
	if errors.Is(err, media.ErrEncoder) {
		p.live = nil
		p.log.Warn(err.Error())
		return stop, nil
	}
	if err != nil || rooms.get() != nil {
		return stop, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var server sync.WaitGroup
	server.Go(func() { runDevLiveKit(ctx, p, rooms) })
	return func() { cancel(); server.Wait() }, nil
}

// runDevLiveKit runs the media server until ctx ends. What goes wrong with it ends no batch.
func runDevLiveKit(ctx context.Context, p *parts, rooms *lateRooms) {
	server, err := devstack.StartLiveKit(ctx, filepath.Join(p.cfg.DataDir, "livekit"), devstack.LiveKitOptions{})
	if err != nil {
		if ctx.Err() == nil {
			p.log.Warn("no live sessions", "error", err)
		}
		return
	}
	defer server.Stop()
	settings := p.cfg.LiveKit
	settings.URL, settings.APIKey, settings.APISecret = server.URL, server.APIKey, server.APISecret
	given, err := openRooms(settings, p.log)
	if err != nil {
		p.log.Warn("no live sessions", "error", err)
		return
	}
	rooms.set(given)
	<-ctx.Done()
}

// start lets the workers begin once the media server is there, and tells live its address when one of them is ready.
func (l *live) start(ctx context.Context, live func(url string)) error {
	rooms, late := l.rooms.(*lateRooms)
	if late {
		select {
		case <-rooms.there:
		case <-ctx.Done():
			return nil
		}
	}
	close(l.begin)
	if l.waitWorker(ctx) {
		live(l.rooms.URL())
	}
	return nil
}

// errNoRooms is the answer until the media server is there.
var errNoRooms = errors.New("the media server is not there yet")

// lateRooms are rooms that come when their media server does.
type lateRooms struct {
	now atomic.Pointer[streaming.Rooms]
	// there is closed when they are.
	there chan struct{}
}

func newLateRooms() *lateRooms { return &lateRooms{there: make(chan struct{})} }

// set is called once.
func (r *lateRooms) set(rooms streaming.Rooms) {
	r.now.Store(&rooms)
	close(r.there)
}

func (r *lateRooms) get() streaming.Rooms {
	if rooms := r.now.Load(); rooms != nil {
		return *rooms
	}
	return nil
}

// with calls do where there are rooms.
func (r *lateRooms) with(do func(streaming.Rooms) error) error {
	rooms := r.get()
	if rooms == nil {
		return errNoRooms
	}
	return do(rooms)
}

// Create makes a room.
func (r *lateRooms) Create(ctx context.Context, room string) error {
	return r.with(func(rooms streaming.Rooms) error { return rooms.Create(ctx, room) })
}

// Delete ends a room.
func (r *lateRooms) Delete(ctx context.Context, room string) error {
	return r.with(func(rooms streaming.Rooms) error { return rooms.Delete(ctx, room) })
}

// Join enters a room.
func (r *lateRooms) Join(ctx context.Context, j streaming.Join) (p streaming.Publisher, err error) {
	err = r.with(func(rooms streaming.Rooms) (err error) { p, err = rooms.Join(ctx, j); return err })
	return p, err
}

// Token lets somebody in.
func (r *lateRooms) Token(room, identity string, role streaming.Role, ttl time.Duration) (token string, err error) {
	err = r.with(func(rooms streaming.Rooms) (err error) {
		token, err = rooms.Token(room, identity, role, ttl)
		return err
	})
	return token, err
}

// URL is where clients connect to; empty before the media server is there.
func (r *lateRooms) URL() string {
	if rooms := r.get(); rooms != nil {
		return rooms.URL()
	}
	return ""
}

// Check says whether the media server is there.
func (r *lateRooms) Check(ctx context.Context) error {
	return r.with(func(rooms streaming.Rooms) error { return rooms.Check(ctx) })
}
