package livekit

import (
	"slices"
	"sync"
	"time"

	"telefuser/streaming"
)

const (
	// controlsMax is how many control messages wait for the reader: a second of a fast game pad's. Those beyond it are dropped.
	controlsMax = 64
	// controlsPerSecondMax is how many control messages a second are handed on, and how many at once after a pause. People do not need more, and every
	// one is answered.
	controlsPerSecondMax = 200
	// eventsMax is how many comings and goings may wait. Nobody reads when there are more.
	eventsMax = 10_000
)

// mailbox carries events from the library's callbacks, which must never wait, to a reader who may.
type mailbox struct {
	out  chan streaming.Event
	wake chan struct{}
	stop chan struct{}
	done chan struct{}
	once sync.Once

	mu       sync.Mutex
	queue    []streaming.Event
	controls int
	dropped  int
	sealed   bool
	// allowance is how many control messages may come now, as of the time counted.
	allowance float64
	counted   time.Time
}

func newMailbox() *mailbox {
	m := &mailbox{
		// Unbuffered: what was handed over was taken.
		out: make(chan streaming.Event), wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		allowance: controlsPerSecondMax, counted: time.Now(),
	}
	go m.carry()
	return m
}

// control takes a control message, or counts it as dropped.
func (m *mailbox) control(identity string, payload []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sealed {
		return
	}
	now := time.Now()
	m.allowance = min(controlsPerSecondMax, m.allowance+now.Sub(m.counted).Seconds()*controlsPerSecondMax)
	m.counted = now
	if m.controls >= controlsMax || m.allowance < 1 {
		m.dropped++
		return
	}
	m.allowance--
	m.controls++
	m.add(streaming.Event{Kind: streaming.EventControl, Identity: identity, Payload: payload})
}

// drop counts a message that is not obeyed.
func (m *mailbox) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropped++
}

// put takes any other event. It answers false when nobody reads.
func (m *mailbox) put(kind, identity string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sealed {
		return true
	}
	if len(m.queue) >= eventsMax {
		return false
	}
	m.add(streaming.Event{Kind: kind, Identity: identity})
	return true
}

// seal takes the last event, none when kind is empty; the channel is closed behind it.
func (m *mailbox) seal(kind string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sealed {
		return
	}
	m.sealed = true
	if kind != "" {
		m.queue = append(m.queue, streaming.Event{Kind: kind})
	}
	m.signal()
}

// close ends the mailbox with whatever is in it and waits until its goroutine has ended.
func (m *mailbox) close() {
	m.once.Do(func() { close(m.stop) })
	<-m.done
}

func (m *mailbox) add(e streaming.Event) {
	m.queue = append(m.queue, e)
	m.signal()
}

func (m *mailbox) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// next takes the oldest event. last says that there is none and there will be none.
func (m *mailbox) next() (e streaming.Event, ok, last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 {
		return e, false, m.sealed
	}
	e = m.queue[0]
	m.queue = slices.Delete(m.queue, 0, 1)
	if e.Kind == streaming.EventControl {
		m.controls--
	}
	e.Dropped, m.dropped = m.dropped, 0
	return e, true, false
}

func (m *mailbox) carry() {
	defer close(m.done)
	defer close(m.out)
	for {
		e, ok, last := m.next()
		if last {
			return
		}
		if ok {
			select {
			case m.out <- e:
			case <-m.stop:
				return
			}
			continue
		}
		select {
		case <-m.wake:
		case <-m.stop:
			return
		}
	}
}
