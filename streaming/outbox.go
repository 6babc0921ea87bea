package streaming

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"
)

// The bounds of what waits to be said.
const (
	// lettersMax bounds the statuses that wait: more than a second of them at the busiest.
	lettersMax = 64
	// measuresMax bounds the facts that wait; they are worth little when late.
	measuresMax = 16
	// letterTimeout bounds one send, letterTries how often it is tried.
	letterTimeout = 2 * time.Second
	letterTries   = 3
	// packBytesMax is when facts no longer share a message.
	packBytesMax = 8 << 10
)

// letter is one message to the room.
type letter struct {
	topic, stage string
	payload      []byte
	// last words evict anything and are never dropped.
	last  bool
	tries int
}

// outbox sends messages in order, from a queue of its own, so that no status waits behind media. When it is full a status replaces the oldest of its stage, or
// else the oldest that is not a last word; facts replace the oldest facts. What is dropped is counted.
type outbox struct {
	sessionID string
	link      *link

	mu       sync.Mutex
	letters  []*letter
	dropped  int64
	closed   bool
	nonEmpty chan struct{}
}

func newOutbox(sessionID string, l *link) *outbox {
	return &outbox{sessionID: sessionID, link: l, nonEmpty: make(chan struct{}, 1)}
}

// fields are the members of a message.
type fields map[string]any

// with adds others to a copy.
func (f fields) with(others fields) fields {
	all := maps.Clone(f)
	maps.Copy(all, others)
	return all
}

// stamp is a time on the wire: seconds since 1970.
func stamp(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// status says where the session stands; index is the chunk's, nil where it is about none.
func (o *outbox) status(stage string, index *int, data fields) {
	if data == nil {
		data = fields{}
	}
	data["type"], data["stage"] = "status", stage
	o.send(stage, false, fields{"type": "chunk", "session_id": o.sessionID, "index": index, "data": data, "error": nil, "timestamp": stamp(time.Now())})
}

// fail says that the session ends with an error.
func (o *outbox) fail(stage, text string) {
	o.send("error", true, fields{"type": "chunk", "session_id": o.sessionID, "index": nil, "error": text, "timestamp": stamp(time.Now()),
		"data": fields{"type": "error", "stage": stage, "error": text}})
}

// done says that all frames were sent, or why no more come.
func (o *outbox) done(data fields) {
	data["type"], data["session_id"], data["timestamp"] = "done", o.sessionID, stamp(time.Now())
	o.send("done", true, data)
}

// fact is something that was measured.
type fact struct {
	kind string
	data fields
}

// measure sends facts, which may get lost, as one JSON array; as several where they are long.
func (o *outbox) measure(facts ...fact) {
	utc := time.Now().UTC().Format(time.RFC3339Nano)
	var pack []byte
	send := func() {
		if len(pack) > 0 {
			o.add(&letter{topic: TopicMetrics, stage: facts[0].kind, payload: append(pack, ']')})
		}
		pack = nil
	}
	for _, f := range facts {
		f.data["type"], f.data["session_id"], f.data["utc"] = f.kind, o.sessionID, utc
		one, err := json.Marshal(f.data)
		if err != nil { // a number that is not finite
			continue
		}
		if len(pack)+len(one) > packBytesMax {
			send()
		}
		separator := byte(',')
		if len(pack) == 0 {
			separator = '['
		}
		pack = append(append(pack, separator), one...)
	}
	send()
}

func (o *outbox) send(stage string, last bool, message fields) {
	payload, err := json.Marshal(message)
	if err != nil { // a number that is not finite: better no status than no session
		o.mu.Lock()
		o.dropped++
		o.mu.Unlock()
		return
	}
	o.add(&letter{topic: TopicStatus, stage: stage, payload: payload, last: last})
}

func (o *outbox) add(l *letter) {
	o.mu.Lock()
	if l.topic == TopicMetrics {
		o.makeRoom(measuresMax, func(other *letter) bool { return other.topic == TopicMetrics }, nil)
	} else {
		o.makeRoom(lettersMax, func(other *letter) bool { return other.topic == TopicStatus && !other.last },
			func(other *letter) bool { return other.stage == l.stage && !other.last })
	}
	o.letters = append(o.letters, l)
	o.mu.Unlock()
	if l.topic != TopicMetrics { // facts go along with the next status, which costs the network less than a way of their own
		nudge(o.nonEmpty)
	}
}

// makeRoom drops the oldest letter that is preferred, or else that is evictable, when there are too many evictable ones.
func (o *outbox) makeRoom(most int, evictable, preferred func(*letter) bool) {
	count, oldest, best := 0, -1, -1
	for i, other := range o.letters {
		if !evictable(other) {
			continue
		}
		if count++; oldest < 0 {
			oldest = i
		}
		if best < 0 && preferred != nil && preferred(other) {
			best = i
		}
	}
	if count < most {
		return
	}
	if best < 0 {
		best = oldest
	}
	o.letters = append(o.letters[:best], o.letters[best+1:]...)
	o.dropped++
}

// close says that nothing more comes; run returns when the rest is sent.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	nudge(o.nonEmpty)
}

// drops is how many messages were not sent.
func (o *outbox) drops() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}

// run sends until the outbox is closed and empty, or ctx ends.
func (o *outbox) run(ctx context.Context) {
	for {
		o.mu.Lock()
		var l *letter
		if len(o.letters) > 0 {
			l = o.letters[0]
			o.letters = append(o.letters[:0], o.letters[1:]...)
		}
		closed := o.closed
		o.mu.Unlock()
		switch {
		case l != nil:
			o.deliver(ctx, l)
		case closed:
			return
		default:
			select {
			case <-o.nonEmpty:
			case <-ctx.Done():
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// deliver sends one letter when we are in the room. Facts do not wait for that.
func (o *outbox) deliver(ctx context.Context, l *letter) {
	for ; l.tries < letterTries; l.tries++ {
		v := o.link.view()
		if v.pub == nil && l.topic == TopicMetrics {
			break
		}
		v, err := o.link.await(ctx, func(v view) bool { return v.pub != nil })
		if err != nil {
			break
		}
		timed, cancel := context.WithTimeout(ctx, letterTimeout)
		err = v.pub.Send(timed, l.topic, l.payload, l.topic == TopicStatus)
		cancel()
		if err == nil {
			return
		}
		if l.topic == TopicMetrics || sleepUntil(ctx, time.Now().Add(letterPause)) != nil {
			break
		}
	}
	o.mu.Lock()
	o.dropped++
	o.mu.Unlock()
}

// letterPause is the pause before a send is tried again.
const letterPause = 50 * time.Millisecond
