package streaming

import "time"

// The foresight's parts: how many chunks it looks back on, and what it adds to the slowest of them.
const (
	foresightChunks = 8
	foresightMargin = 40 * time.Millisecond
)

// foresight says how early a chunk must be asked for so that it is there in time, and no earlier: a control waits for the next chunk that is asked for.
type foresight struct {
	took [foresightChunks]time.Duration
	n    int
	// end is when the last frame of what was made has been shown.
	end time.Time
}

// ask is when to ask for the next chunk; at once where nothing is known.
func (f *foresight) ask() time.Time {
	if f.n == 0 {
		return time.Time{}
	}
	var slowest time.Duration
	for _, d := range f.took[:min(f.n, foresightChunks)] {
		slowest = max(slowest, d)
	}
	return f.end.Add(-slowest - slowest/5 - foresightMargin)
}

// made notes a chunk that took so long from when it was wanted, and answers when its first frame is to be shown.
func (f *foresight) made(now time.Time, took, length time.Duration) time.Time {
	f.took[f.n%foresightChunks] = took
	f.n++
	start := latestOf(now, f.end)
	f.end = start.Add(length)
	return start
}
