package viewer_test

import (
	"testing"
	"time"

	"telefuser/internal/bench/viewer"
)

const (
	period = time.Second / 16
	ticks  = 90_000 / 16
)

// arrivals are frames by their number, each late by so much; the track's clock runs over after the third.
func arrivals(begin time.Time, late map[int]time.Duration, numbers ...int) []viewer.Arrival {
	var out []viewer.Arrival
	for _, n := range numbers {
		out = append(out, viewer.Arrival{At: begin.Add(time.Duration(n)*period + late[n]), Timestamp: uint32(1<<32 - 3*ticks + n*ticks)})
	}
	return out
}

func TestSteadiness(t *testing.T) {
	begin := time.Now()
	s := viewer.NewSteadiness(arrivals(begin, map[int]time.Duration{2: 7 * time.Millisecond}, 0, 1, 2, 3, 5, 6, 16), period)
	if s.Frames != 7 || s.Missing != 1+9 || s.Freezes != 1 || s.GapMax != 10*period {
		t.Errorf("%+v", s)
	}
	if want := 6 / (16 * period.Seconds()); s.FPS < want-1e-9 || s.FPS > want+1e-9 {
		t.Errorf("%g frames a second, want %g", s.FPS, want)
	}
	for i, want := range []time.Duration{0, 7 * time.Millisecond, 7 * time.Millisecond, 0, 0, 0} {
		if s.Jitter[i] != want {
			t.Errorf("jitter %d is %v, want %v", i, s.Jitter[i], want)
		}
	}
	if s := viewer.NewSteadiness(nil, period); s.FPS != 0 || s.Frames != 0 {
		t.Errorf("of nothing: %+v", s)
	}
}

func TestTraceKeepsWhatCameBetween(t *testing.T) {
	begin := time.Now()
	var trace viewer.Trace
	for _, a := range arrivals(begin, nil, 0, 1, 2, 3) {
		trace.OnFrame(viewer.Frame{At: a.At, Timestamp: a.Timestamp})
	}
	if got := trace.Between(begin.Add(period), begin.Add(3*period)); len(got) != 2 || !got[0].At.Equal(begin.Add(period)) {
		t.Errorf("%v", got)
	}
}

func TestClockFindsTheFrameHoweverLateItCame(t *testing.T) {
	const way = 6 * time.Millisecond
	begin := time.Now()
	late := map[int]time.Duration{0: way + 20*time.Millisecond, 1: way, 2: way + 5*time.Millisecond, 3: way + 2*period, 4: way + 2*period}
	all := arrivals(begin, late, 0, 1, 2, 3, 4)
	clock := viewer.NewClock(all)
	for n, a := range all {
		if got, ok := clock.Sent(all, begin.Add(time.Duration(n)*period), period); !ok || got != a {
			t.Errorf("frame %d: %v, %v", n, got, ok)
		}
	}
	if _, ok := clock.Sent(all, begin.Add(9*period), period); ok {
		t.Error("a frame that was never sent is there")
	}
}
