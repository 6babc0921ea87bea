package streaming

import (
	"sync"
	"time"
)

// The foresight's parts: how many chunks it looks back on, and what it adds to the slowest of them.
const (
	foresightChunks = 8
	foresightMargin = 40 * time.Millisecond
)

// foresight says how early a chunk must be asked for so that it is there in time, and no earlier: a control waits for the next chunk that is asked for.
type foresight struct {
	took [foresightChunks]time.Duration
	n    int
	// most is the earliest that a chunk is asked for: as much time as the queue holds. Sooner it would only put another one out.
	most time.Duration
}

// ask is when to ask for a chunk that is to be shown at a moment; at once where nothing is known.
func (f *foresight) ask(shownAt time.Time) time.Time {
	if f.n == 0 {
		return time.Time{}
	}
	var slowest time.Duration
	for _, d := range f.took[:min(f.n, foresightChunks)] {
		slowest = max(slowest, d)
	}
	return shownAt.Add(-min(slowest+slowest/5+foresightMargin, f.most))
}

// made notes how long a chunk took from when it was wanted, and how long it is shown.
func (f *foresight) made(took, length time.Duration) {
	f.most = max(f.most, chunksMax*length)
	f.took[f.n%foresightChunks] = took
	f.n++
}

// timeline is what the source and the screen both know of the time to come.
type timeline struct {
	mu sync.Mutex
	// end is when the last frame of what was begun has been shown, waiting the length of what was made and not begun.
	end     time.Time
	waiting time.Duration
}

// until is when all that was made will have been shown.
func (t *timeline) until(now time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return latestOf(now, t.end).Add(t.waiting)
}

// add notes a chunk that was made, or with a length below 0 one that was given up.
func (t *timeline) add(length time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting += length
}

// begin notes that a chunk is shown from a moment on.
func (t *timeline) begin(start time.Time, length time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting -= length
	t.end = start.Add(length)
}
