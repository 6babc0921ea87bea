package streaming_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"telefuser/streaming"
	"telefuser/workers/media"
)

// rooms is a media server of a few lines.
type rooms struct {
	mu      sync.Mutex
	all     map[string]*room
	created int
	deleted map[string]int
	// under is how many clients were in a room when it was deleted.
	under map[string]int
	down  bool
	// joinTakes is how long it takes to enter a room.
	joinTakes time.Duration
	// deaf is the answer to sound. It is set before a session is made: its track is announced as soon as a worker is in the room.
	deaf error
}

// room has a publisher at most, clients, and what was sent to them.
type room struct {
	mu       sync.Mutex
	pub      *publisher
	clients  map[string]bool
	messages []sent
	frames   []frame
	sounds   []sound
	joins    int
	// slow is how long a frame takes to write, broken makes writes fail.
	slow   time.Duration
	broken bool
	// subscribed is closed when the controller receives the track.
	subscribed chan struct{}
}

type sent struct {
	topic   string
	payload []byte
	at      time.Time
}

type frame struct {
	at    time.Time
	pts   time.Duration
	first byte
	epoch int
}

// sound is what was heard.
type sound struct {
	at  time.Time
	pts time.Duration
	media.Sound
}

func newRooms() *rooms {
	return &rooms{all: map[string]*room{}, deleted: map[string]int{}, under: map[string]int{}}
}

var errDown = errors.New("the media server is down")

func (r *rooms) of(name string) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[name] == nil {
		ready := make(chan struct{})
		close(ready)
		r.all[name] = &room{clients: map[string]bool{}, subscribed: ready}
	}
	return r.all[name]
}

func (r *rooms) Create(context.Context, string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.created++
	if r.down {
		return errDown
	}
	return nil
}

func (r *rooms) Delete(_ context.Context, name string) error {
	room := r.of(name)
	room.mu.Lock()
	clients := len(room.clients)
	room.mu.Unlock()
	r.mu.Lock()
	down := r.down
	if !down {
		r.deleted[name]++
		r.under[name] = clients
	}
	r.mu.Unlock()
	if down {
		return errDown
	}
	room.end(streaming.EventRoomDeleted)
	return nil
}

func (r *rooms) gone(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deleted[name] > 0
}

func (r *rooms) setDown(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

func (r *rooms) Token(string, string, streaming.Role, time.Duration) (string, error) { return "t", nil }
func (r *rooms) URL() string                                                         { return "ws://here" }
func (r *rooms) Check(context.Context) error                                         { return nil }

func (r *rooms) Join(ctx context.Context, j streaming.Join) (streaming.Publisher, error) {
	r.mu.Lock()
	down, takes := r.down, r.joinTakes
	r.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if down {
		return nil, errDown
	}
	room := r.of(j.Room)
	room.end(streaming.EventReplaced)
	room.mu.Lock()
	defer room.mu.Unlock()
	p := &publisher{room: room, epoch: j.Epoch, events: make(chan streaming.Event, 2048), deaf: r.deaf}
	room.pub = p
	room.joins++
	for id := range room.clients {
		p.events <- streaming.Event{Kind: streaming.EventJoined, Identity: id}
	}
	return p, nil
}

// end puts the publisher out, with the event that says why.
func (r *room) end(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pub != nil {
		r.pub.events <- streaming.Event{Kind: why}
		close(r.pub.events)
		r.pub = nil
	}
}

// forget loses the room with everybody in it, as a media server does that is started anew.
func (r *room) forget() {
	r.mu.Lock()
	r.clients = map[string]bool{}
	r.mu.Unlock()
	r.end(streaming.EventLost)
}

// event tells the publisher something, if there is one.
func (r *room) event(e streaming.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case streaming.EventJoined:
		r.clients[e.Identity] = true
	case streaming.EventLeft:
		delete(r.clients, e.Identity)
	}
	if r.pub != nil {
		r.pub.events <- e
	}
}

func (r *room) enter(id string)  { r.event(streaming.Event{Kind: streaming.EventJoined, Identity: id}) }
func (r *room) depart(id string) { r.event(streaming.Event{Kind: streaming.EventLeft, Identity: id}) }
func (r *room) say(text string) {
	r.event(streaming.Event{Kind: streaming.EventControl, Identity: "ann", Payload: []byte(text)})
}

// shown are the frames so far.
func (r *room) shown() []frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]frame(nil), r.frames...)
}

// heard are the messages on a topic so far.
func (r *room) heard(t *testing.T, topic string) []message {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []message
	for _, s := range r.messages {
		switch {
		case s.topic != topic:
		case topic == streaming.TopicMetrics:
			var facts []message
			if err := json.Unmarshal(s.payload, &facts); err != nil || len(facts) == 0 {
				t.Fatalf("facts %s: %v", s.payload, err)
			}
			out = append(out, facts...)
		default:
			out = append(out, decode(t, s.payload))
		}
	}
	return out
}

// find is the first status that fits, or nil.
func (r *room) find(t *testing.T, fits func(message) bool) message {
	t.Helper()
	for _, m := range r.heard(t, streaming.TopicStatus) {
		if fits(m) {
			return m
		}
	}
	return nil
}

// publisher is one epoch in a room.
type publisher struct {
	room   *room
	epoch  int
	events chan streaming.Event
	// deaf is the answer to sound.
	deaf error
}

func (p *publisher) WaitSubscribed(ctx context.Context, _ string) error {
	select {
	case <-p.room.subscribed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *publisher) WriteSound(s media.Sound, pts time.Duration) error {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.room.sounds = append(p.room.sounds, sound{time.Now(), pts, s})
	return p.deaf
}

func (p *publisher) WriteFrame(ctx context.Context, f media.Frame, pts time.Duration, at time.Time) (streaming.Encoding, error) {
	p.room.mu.Lock()
	slow, broken, here := p.room.slow, p.room.broken, p.room.pub == p
	p.room.mu.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return streaming.Encoding{}, ctx.Err()
		}
	}
	if broken || !here {
		return streaming.Encoding{}, errDown
	}
	select {
	case <-time.After(time.Until(at)):
	case <-ctx.Done():
		return streaming.Encoding{}, ctx.Err()
	}
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.room.frames = append(p.room.frames, frame{time.Now(), pts, f.Data[0], p.epoch})
	return streaming.Encoding{Took: time.Microsecond}, nil
}

func (p *publisher) Send(_ context.Context, topic string, payload []byte, reliable bool) error {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	if p.room.pub != p {
		return errDown
	}
	if reliable != (topic == streaming.TopicStatus) {
		return errors.New("statuses are reliable, facts are not")
	}
	p.room.messages = append(p.room.messages, sent{topic, append([]byte(nil), payload...), time.Now()})
	return nil
}

func (p *publisher) Events() <-chan streaming.Event { return p.events }

func (p *publisher) Close() error {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	if p.room.pub == p {
		close(p.events)
		p.room.pub = nil
	}
	return nil
}
