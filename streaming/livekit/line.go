package livekit

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// line is whether the connection is up. Who sends waits while it is away for a moment, so that nothing is made for nobody.
type line struct {
	mu sync.Mutex
	// up is closed while the connection is up.
	up   chan struct{}
	away bool
	over bool
	// timer gives a connection up that stays away.
	timer *time.Timer
}

func newLine() *line {
	l := &line{up: make(chan struct{})}
	close(l.up)
	return l
}

// down says that the connection is away. giveUp is called when it does not come back in time. It answers false when it was known.
func (l *line) down(patience time.Duration, giveUp func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away || l.over {
		return false
	}
	l.away, l.up = true, make(chan struct{})
	l.timer = time.AfterFunc(patience, giveUp)
	return true
}

// restored says that the connection is back. It answers false when it was not away.
func (l *line) restored() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.away || l.over {
		return false
	}
	l.away = false
	l.timer.Stop()
	close(l.up)
	return true
}

// isAway says whether the connection is away for the moment.
func (l *line) isAway() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.away && !l.over
}

// end stops the clock for good.
func (l *line) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.timer != nil {
		l.timer.Stop()
	}
}

// wait returns when the connection is up.
func (l *line) wait(ctx context.Context, ended <-chan struct{}) error {
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	// Whoever has left must not send, whatever the connection is.
	select {
	case <-ended:
		return ErrClosed
	default:
	}
	select {
	case <-up:
		return nil
	case <-ended:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("livekit: wait for the connection: %w", context.Cause(ctx))
	}
}
