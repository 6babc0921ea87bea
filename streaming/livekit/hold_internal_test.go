package livekit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestFramesLeaveEvenlyWhateverTheyTake encodes frames that take from nothing to more than the time between two, each as soon as the one before was sent.
func TestFramesLeaveEvenlyWhateverTheyTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const period = time.Second / 16
		p := &publisher{line: newLine(), ended: make(chan struct{})}
		begun := time.Now()
		for i, encode := range []time.Duration{3, 0, 14, 7, 80, 5} {
			encode *= time.Millisecond
			moment := begun.Add(time.Duration(i) * period)
			want := max(time.Until(moment), encode)
			began := time.Now()
			time.Sleep(encode)
			if err := p.hold(t.Context(), moment); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(began); got != want {
				t.Errorf("frame %d left after %v, want %v", i, got, want)
			}
		}
	})
}

// TestAFrameIsHeldWhileTheConnectionIsAway although its moment has passed, and not at all when the room is left.
func TestAFrameIsHeldWhileTheConnectionIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &publisher{line: newLine(), ended: make(chan struct{})}
		begin := time.Now()
		p.line.down(time.Hour, func() {})
		time.AfterFunc(time.Second, func() { p.line.restored() })
		if err := p.hold(t.Context(), begin.Add(time.Millisecond)); err != nil || time.Since(begin) != time.Second {
			t.Errorf("held for %v: %v", time.Since(begin), err)
		}
		begin = time.Now()
		timed, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.hold(timed, begin.Add(time.Hour)); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("held for %v: %v", time.Since(begin), err)
		}
		begin = time.Now()
		time.AfterFunc(time.Second, func() { close(p.ended) })
		if err := p.hold(t.Context(), begin.Add(time.Hour)); !errors.Is(err, ErrClosed) || time.Since(begin) != time.Second {
			t.Errorf("a room that was left held a frame back for %v: %v", time.Since(begin), err)
		}
	})
}
