package livekit

import (
	"testing"
	"testing/synctest"
	"time"

	"telefuser/streaming"
)

// TestFramesLeaveEvenlyWhateverTheyTake encodes frames that take from nothing to more than may be held back.
func TestFramesLeaveEvenlyWhateverTheyTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const period = time.Second / 16
		p := &publisher{join: streaming.Join{FPS: 16}, ended: make(chan struct{})}
		begun := time.Now()
		for i, encode := range []time.Duration{3, 0, 14, 7, 40, 5} {
			at := time.Duration(i) * period
			time.Sleep(time.Until(begun.Add(at)))
			begin := time.Now()
			time.Sleep(encode * time.Millisecond)
			p.frames++
			p.smooth(t.Context(), begin, at)
			if got, want := time.Since(begun)-at, max(smoothMax, encode*time.Millisecond); got != want {
				t.Errorf("frame %d left %v after its moment, want %v", i, got, want)
			}
		}
		close(p.ended)
		p.frames++
		begin := time.Now()
		p.smooth(t.Context(), begin, 6*period)
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("a room that was left held a frame back for %v", waited)
		}
	})
}

func TestFastStreamsAreHeldBackLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &publisher{join: streaming.Join{FPS: 50}, ended: make(chan struct{}), frames: 1}
		begin := time.Now()
		p.smooth(t.Context(), begin, time.Hour)
		if waited := time.Since(begin); waited != time.Second/200 {
			t.Errorf("held back for %v", waited)
		}
	})
}
