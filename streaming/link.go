package streaming

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// rejoinPause is the pause between two tries to enter a room.
const rejoinPause = 500 * time.Millisecond

// link is a session's place in its room. It comes back by itself when the media server was away, and knows who is there.
type link struct {
	rooms   Rooms
	join    Join
	timeout time.Duration
	patient time.Duration
	log     *slog.Logger

	mu      sync.Mutex
	pub     Publisher
	clients map[string]struct{}
	// away says that the connection is gone for the moment.
	away bool
	// entered says that we were in the room before, forgotten that it was lost since and nobody has come back.
	entered, forgotten bool
	// changed is closed and made anew at every change.
	changed chan struct{}
}

func newLink(rooms Rooms, join Join, cfg PoolConfig, log *slog.Logger) *link {
	return &link{rooms: rooms, join: join, timeout: cfg.JoinTimeout, patient: cfg.RejoinTimeout, log: log,
		clients: map[string]struct{}{}, changed: make(chan struct{})}
}

// view is the room at one moment.
type view struct {
	// pub is nil while we are not in the room.
	pub        Publisher
	clients    int
	controller bool
	forgotten  bool
	away       bool
	// entered says that we were in the room, now or before.
	entered bool
	changed <-chan struct{}
}

func (l *link) view() view {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, controller := l.clients[l.join.Controller]
	return view{l.pub, len(l.clients), controller, l.forgotten, l.away, l.entered, l.changed}
}

// presence is the view as the record takes it.
func (v view) presence() *presence {
	if v.pub == nil {
		return &presence{clients: -1}
	}
	return &presence{v.clients, v.controller, v.forgotten}
}

func (l *link) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits until the room is as wanted.
func (l *link) await(ctx context.Context, wanted func(view) bool) (view, error) {
	for {
		v := l.view()
		if wanted(v) {
			return v, nil
		}
		select {
		case <-v.changed:
		case <-ctx.Done():
			return v, context.Cause(ctx)
		}
	}
}

// run stays in the room until ctx ends or there is no way back. heard is told of every event but the comings and goings, changed of those; over is told why it is
// over before the room is left, over which a media server may take its time.
func (l *link) run(ctx context.Context, heard func(Event), changed func(view), over func(error)) error {
	for {
		pub, err := l.enter(ctx)
		if err != nil {
			return err
		}
		l.change(func() {
			l.pub, l.clients, l.away = pub, map[string]struct{}{}, false
			l.forgotten, l.entered = l.entered, true
		})
		changed(l.view())
		err = l.listen(ctx, pub, heard, changed)
		l.change(func() { l.pub, l.clients = nil, map[string]struct{}{} })
		if err != nil {
			over(err)
			return errors.Join(err, l.leave(pub))
		}
		changed(l.view())
		if err := l.leave(pub); err != nil {
			l.log.InfoContext(ctx, "left a lost room", "error", err)
		}
	}
}

// leave closes a publisher. Its error is for the log alone.
func (l *link) leave(pub Publisher) error {
	if err := pub.Close(); err != nil {
		return fmt.Errorf("streaming: leave room: %w", err)
	}
	return nil
}

// enter joins the room, making it again from the second try on: a media server that was started anew has forgotten it.
func (l *link) enter(ctx context.Context) (Publisher, error) {
	patient, cancel := context.WithTimeoutCause(ctx, l.patient, endWith(ReasonMediaLost))
	defer cancel()
	for try := 0; ; try++ {
		pub, err := l.try(patient, try > 0)
		if err == nil {
			return pub, nil
		}
		if patient.Err() != nil {
			return nil, context.Cause(patient)
		}
		l.log.WarnContext(ctx, "room not entered", "error", err)
		if err := sleepUntil(patient, time.Now().Add(rejoinPause)); err != nil {
			return nil, err
		}
	}
}

func (l *link) try(ctx context.Context, create bool) (Publisher, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	if create {
		if err := l.rooms.Create(ctx, l.join.Room); err != nil {
			return nil, err
		}
	}
	return l.rooms.Join(ctx, l.join)
}

// listen hears what happens in the room. It answers nil when the room was lost and may be entered again.
func (l *link) listen(ctx context.Context, pub Publisher, heard func(Event), changed func(view)) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, open := <-pub.Events():
			if !open {
				return nil
			}
			switch e.Kind {
			case EventJoined:
				l.change(func() { l.clients[e.Identity], l.forgotten = struct{}{}, false })
				changed(l.view())
			case EventLeft:
				l.change(func() { delete(l.clients, e.Identity) })
				changed(l.view())
			case EventAway:
				l.change(func() { l.away = true })
			case EventReconnected:
				l.change(func() { l.away = false })
				heard(e)
			case EventLost:
				return nil
			case EventRoomDeleted:
				return endWith(ReasonRoomDeleted)
			case EventReplaced:
				return errReplaced
			default:
				heard(e)
			}
		}
	}
}
