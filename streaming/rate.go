package streaming

import (
	"sync"
	"time"
)

// rateSeconds is the length of the window of a rate.
const rateSeconds = 30

// rate counts events of the last seconds.
type rate struct {
	mu     sync.Mutex
	counts [rateSeconds + 1]int64
	second int64
	began  int64
}

// advance empties the seconds that have passed; the caller holds the lock.
func (r *rate) advance(now time.Time) int64 {
	second := now.Unix()
	if r.began == 0 {
		r.began, r.second = second, second
	}
	for s := max(r.second+1, second-rateSeconds); s <= second; s++ {
		r.counts[s%int64(len(r.counts))] = 0
	}
	r.second = max(r.second, second)
	return second
}

func (r *rate) add(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[r.advance(now)%int64(len(r.counts))]++
}

// any says whether an event was ever counted.
func (r *rate) any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.began != 0
}

// perSecond is the mean over the whole seconds of the window.
func (r *rate) perSecond(now time.Time) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	second := r.advance(now)
	var sum int64
	for s := second - rateSeconds; s < second; s++ {
		sum += r.counts[((s%int64(len(r.counts)))+int64(len(r.counts)))%int64(len(r.counts))]
	}
	return float64(sum) / float64(max(1, min(rateSeconds, second-r.began)))
}

// count is the number of events in the window, the second under way included.
func (r *rate) count(now time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(now)
	var sum int64
	for _, n := range r.counts {
		sum += n
	}
	return sum
}
