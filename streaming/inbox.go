package streaming

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// The bounds of the inbox.
const (
	// pendingMax bounds the controls that wait for the next chunk; beyond it the oldest is superseded.
	pendingMax = 64
	// floodEvery is the pause between two answers about dropped messages.
	floodEvery = time.Second
	// settleChunks is after how many chunks a control that its source did not name counts as superseded: a tap's release acts one chunk after the tap.
	settleChunks = 2
)

// pendingControl is a control that was obeyed and has not shown in a chunk yet.
type pendingControl struct {
	Control
	// named says that the sender gave the id, so that it is answered.
	named   bool
	arrived time.Time
	// chunks counts those made since the source was told.
	chunks int
	// still is a repeated set of keys, which the source need not be told.
	still bool
	// resumed says that nobody pressed anything: the keys were held before.
	resumed bool
	// replaced says that a newer explicit control came before any chunk was begun with this one.
	replaced bool
}

// inbox takes the controller's messages in, keeps what the keys are, and says what became of each.
type inbox struct {
	sessionID string
	out       *outbox
	metrics   *poolMetrics
	limit     *bucket
	// touched is told that the controller is active, and what keys it holds.
	touched func(keys string)
	// stopped is told that the controller ends the session.
	stopped func()

	mu      sync.Mutex
	held    string
	rev     int
	applied int
	seq     int
	// waiting are not yet with the source, sent are.
	waiting, sent []*pendingControl
	superseded    int64
	overwritten   int64
	dropped       int64
	told          time.Time
	toldDropped   int64
	// asked says that done was said, so that an ack may come.
	asked bool
	acks  chan int64
}

func newInbox(sessionID string, out *outbox, m *poolMetrics, perSecond int, touched func(keys string), stopped func()) *inbox {
	return &inbox{sessionID: sessionID, out: out, metrics: m, limit: newBucket(perSecond), touched: touched, stopped: stopped, acks: make(chan int64, 1)}
}

// resume goes on with the keys that were held under another owner, and sees that the source knows them. Call it before anything is received.
func (b *inbox) resume(keys string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = keys
	b.seq++
	b.queue(&pendingControl{Control: Control{ID: fmt.Sprintf("#%d", b.seq), Keys: &keys}, arrived: time.Now(), resumed: true})
}

// receive takes one message. Every one is answered: obeyed ones with their state and later their chunk, the others with a code.
func (b *inbox) receive(payload []byte, now time.Time) {
	if !b.limit.take(now) {
		b.drop(1, now)
		return
	}
	m, err := ParseMessage(payload, b.sessionID)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		b.refuse(refusal)
		return
	}
	b.metrics.controls.WithLabelValues("accepted").Inc()
	switch m.Type {
	case TypeStop:
		b.out.status("stopping", nil, fields{"control_id": name(m.ID)})
		b.stopped()
	case TypeDeliveryAck:
		b.ack(m)
	default:
		b.obey(m, now)
	}
}

// name is an id as it goes out: null when there is none.
func name(id string) any {
	if id == "" {
		return nil
	}
	return id
}

// refuse answers a message that is not obeyed.
func (b *inbox) refuse(r *Refusal) {
	b.metrics.controls.WithLabelValues("refused").Inc()
	b.out.status("control_rejected", nil, fields{"control_id": name(r.ID), "code": r.Code, "message": r.Message})
}

// drop counts messages that came too fast, and says so once a second.
func (b *inbox) drop(n int, now time.Time) {
	b.metrics.controls.WithLabelValues("dropped").Add(float64(n))
	b.mu.Lock()
	b.dropped += int64(n)
	total, due := b.dropped, now.Sub(b.told) >= floodEvery
	if due {
		b.told = now
		b.toldDropped = total
	}
	b.mu.Unlock()
	if due {
		b.out.status("control_rejected", nil, fields{"control_id": nil, "code": CodeRateLimited, "message": "Control messages come too fast; some were dropped.",
			"dropped": total})
	}
}

// report says what the last answer about dropped messages left out.
func (b *inbox) report(now time.Time) {
	b.mu.Lock()
	owed := b.dropped > b.toldDropped && now.Sub(b.told) >= floodEvery
	b.mu.Unlock()
	if owed {
		b.drop(0, now)
	}
}

// ack takes the client's count of frames, which means something only after done.
func (b *inbox) ack(m Message) {
	b.mu.Lock()
	asked := b.asked
	b.mu.Unlock()
	if !asked {
		b.refuse(&Refusal{ID: m.ID, Code: CodeEarlyAck, Message: "delivery_ack comes after done."})
		return
	}
	select {
	case b.acks <- m.PublishedFrames:
	default: // the first one counted
	}
}

// ask says that an ack may come from now on.
func (b *inbox) ask() {
	b.mu.Lock()
	b.asked = true
	b.mu.Unlock()
}

// obey turns a message into a control for the next chunk.
func (b *inbox) obey(m Message, now time.Time) {
	b.mu.Lock()
	c := &pendingControl{arrived: now, named: m.ID != ""}
	b.seq++
	if c.ID = m.ID; c.ID == "" {
		c.ID = fmt.Sprintf("#%d", b.seq)
	}
	keys, before := b.held, b.held
	switch m.Type {
	case TypeControlState:
		keys = m.Keys
	case TypePrompt:
		c.Prompt = &m.Prompt
	case TypeReset:
		c.Reset, keys = true, ""
	case TypeControl:
		keys = m.apply(b.held, c)
	}
	if c.Prompt == nil && !c.explicit() || keys != before {
		c.Keys = &keys
	}
	c.still = keys == before && c.Prompt == nil && !c.explicit()
	b.held = keys
	if !c.still {
		b.rev++
		b.metrics.actions.Inc()
	}
	if !c.still || c.named {
		b.queue(c)
	}
	state := b.state()
	b.mu.Unlock()
	if !c.still || keys != "" { // a heartbeat without keys is no activity
		b.touched(keys)
	}
	b.out.status("control_state", nil, state)
}

// apply is what a control does to the held keys, and to the camera.
func (m Message) apply(held string, c *pendingControl) string {
	switch m.Event {
	case EventPress:
		if !strings.Contains(held, m.Keys) {
			return ordered(held + m.Keys)
		}
	case EventRelease:
		return strings.ReplaceAll(held, m.Keys, "")
	case EventClear:
		return ""
	case EventResetPose:
		c.Reset = true
		return ""
	case EventPose:
		c.Pose = &m.Pose
	case EventPath:
		c.Path = m.Path
	}
	return held
}

// ordered writes a set of keys in their order.
func ordered(keys string) string {
	var out strings.Builder
	for _, key := range keyOrder {
		if strings.ContainsRune(keys, key) {
			out.WriteRune(key)
		}
	}
	return out.String()
}

// queue adds a control for the next chunk; the caller holds the lock.
func (b *inbox) queue(c *pendingControl) {
	if len(b.waiting) == pendingMax {
		b.settleOne(b.waiting[0], nil, true)
		b.waiting = append(b.waiting[:0], b.waiting[1:]...)
	}
	if c.explicit() {
		for _, other := range b.waiting {
			if other.explicit() && !other.replaced {
				other.replaced = true
				b.overwritten++
			}
		}
	}
	b.waiting = append(b.waiting, c)
}

// state is what the keys are; the caller holds the lock.
func (b *inbox) state() fields {
	return fields{"controls": keyList(b.held), "revision": b.rev, "pending_direction_commands": len(b.waiting)}
}

// keyList is a set of keys as a list.
func keyList(keys string) []string { return strings.Split(keys, "") }

// flush tells the source everything that waits, in order, and answers the keys held.
func (b *inbox) flush(ctx context.Context, source Source) (string, error) {
	for {
		b.mu.Lock()
		if len(b.waiting) == 0 {
			held := b.held
			b.mu.Unlock()
			return held, nil
		}
		c := b.waiting[0]
		b.waiting = append(b.waiting[:0], b.waiting[1:]...)
		b.mu.Unlock()
		if !c.still {
			err := source.Control(ctx, c.Control)
			if errors.Is(err, ErrBadControl) {
				id := c.ID
				if !c.named {
					id = ""
				}
				b.refuse(&Refusal{ID: id, Code: CodeUnsupported, Message: "The pipeline cannot obey this control."})
				continue
			}
			if err != nil {
				return "", err
			}
		}
		b.mu.Lock()
		b.sent = append(b.sent, c)
		b.mu.Unlock()
	}
}

// settle answers the controls that a chunk was made with, and those that they replaced. It answers when the former arrived.
func (b *inbox) settle(index int, ids []string) (arrivals []time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	named := make(map[string]bool, len(ids))
	for _, id := range ids {
		named[id] = true
	}
	last := -1
	for i, c := range b.sent {
		if named[c.ID] {
			last = i
		}
	}
	keep := b.sent[:0]
	for i, c := range b.sent {
		c.chunks++
		switch {
		case named[c.ID]:
			if !c.resumed {
				arrivals = append(arrivals, c.arrived)
			}
			b.settleOne(c, &index, false)
		case c.still:
			b.settleOne(c, &index, false)
		case i < last || c.chunks >= settleChunks:
			b.settleOne(c, &index, true)
		default:
			keep = append(keep, c)
		}
	}
	b.sent = keep
	if len(arrivals) > 0 {
		b.applied = b.rev - len(b.waiting) - len(b.sent)
	}
	return arrivals
}

// settleOne answers one control; the caller holds the lock.
func (b *inbox) settleOne(c *pendingControl, index *int, superseded bool) {
	if superseded {
		b.superseded++
	}
	if c.named {
		b.out.status("control_applied", index, fields{"control_id": c.ID, "superseded": superseded,
			"applied_control_latency_seconds": time.Since(c.arrived).Seconds()})
	}
}

// finish answers what can take effect no more.
func (b *inbox) finish() {
	b.mu.Lock()
	rest := append(b.sent, b.waiting...)
	b.sent, b.waiting = nil, nil
	b.mu.Unlock()
	for _, c := range rest {
		if c.named {
			b.refuse(&Refusal{ID: c.ID, Code: CodeEnding, Message: "The session ended before the control took effect."})
		}
	}
}

// counts are the inbox's part of runtime_metrics.
func (b *inbox) counts() fields {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fields{"dropped_control_signals": b.dropped, "overwritten_explicit_controls": b.overwritten, "overwritten_direction_commands": b.superseded, "last_applied_control_revision": b.applied,
		"pending_direction_commands": len(b.waiting)}
}
