package viewer

import (
	"slices"
	"sync"
	"time"
)

// Arrival is when one frame was whole at a viewer, and its time on the track's clock, in ticks of 90 kHz.
type Arrival struct {
	At        time.Time
	Timestamp uint32
	Key       bool
}

// Trace keeps the arrivals of a viewer. Its OnFrame is for Options; its methods may be called at the same time.
type Trace struct {
	mu       sync.Mutex
	arrivals []Arrival
}

// OnFrame notes a frame.
func (t *Trace) OnFrame(f Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arrivals = append(t.arrivals, Arrival{At: f.At, Timestamp: f.Timestamp, Key: f.Key})
}

// Between answers the arrivals from one moment to another, the later one excluded.
func (t *Trace) Between(from, to time.Time) []Arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Arrival
	for _, a := range t.arrivals {
		if !a.At.Before(from) && a.At.Before(to) {
			out = append(out, a)
		}
	}
	return out
}

// FreezeMin is the shortest time without a frame that a person calls a freeze.
const FreezeMin = 500 * time.Millisecond

// Steadiness is how evenly frames came.
type Steadiness struct {
	Frames int `json:"frames"`
	// FPS is the number of frames after the first over the time from the first to the last; 0 for fewer than two frames.
	FPS float64 `json:"fps"`
	// Missing are frames that the track's clock has room for and that did not come, Freezes the gaps of FreezeMin and more, GapMax the longest.
	Missing int           `json:"missing"`
	Freezes int           `json:"freezes"`
	GapMax  time.Duration `json:"gap_max_ns"`
	// Jitter is, for each frame after the first, by how much its distance from the one before differs from what the track's clock says.
	Jitter []time.Duration `json:"-"`
}

// NewSteadiness looks at arrivals in their order, with the time that a frame is shown.
func NewSteadiness(arrivals []Arrival, period time.Duration) Steadiness {
	s := Steadiness{Frames: len(arrivals)}
	for i := 1; i < len(arrivals); i++ {
		gap, meant := arrivals[i].At.Sub(arrivals[i-1].At), Ticks(arrivals[i].Timestamp-arrivals[i-1].Timestamp)
		s.GapMax = max(s.GapMax, gap)
		if gap >= FreezeMin {
			s.Freezes++
		}
		s.Missing += max(0, int((meant+period/2)/period)-1)
		s.Jitter = append(s.Jitter, (gap - meant).Abs())
	}
	if n := len(arrivals); n > 1 {
		s.FPS = float64(n-1) / arrivals[n-1].At.Sub(arrivals[0].At).Seconds()
	}
	return s
}

// Ticks turns a distance on the track's clock into time.
func Ticks(n uint32) time.Duration { return time.Duration(n) * time.Second / clockRate }

// Clock tells which frame was sent at a moment of the sender's. Both clocks run on one machine; the offset is the least that was seen, so what a frame waited
// for on its way does not move it.
type Clock struct {
	first  Arrival
	origin time.Time
}

// NewClock learns from arrivals, of which there must be one.
func NewClock(arrivals []Arrival) Clock {
	c := Clock{first: arrivals[0], origin: arrivals[0].At}
	for _, a := range arrivals {
		if at := a.At.Add(-Ticks(a.Timestamp - c.first.Timestamp)); at.Before(c.origin) {
			c.origin = at
		}
	}
	return c
}

// Sent answers the frame that was due at a moment, to half a period; ok is false when it did not arrive.
func (c Clock) Sent(arrivals []Arrival, due time.Time, period time.Duration) (a Arrival, ok bool) {
	i := slices.IndexFunc(arrivals, func(a Arrival) bool {
		return c.origin.Add(Ticks(a.Timestamp-c.first.Timestamp)).Sub(due).Abs() <= period/2
	})
	if i < 0 {
		return a, false
	}
	return arrivals[i], true
}
