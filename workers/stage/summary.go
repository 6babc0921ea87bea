package stage

import (
	"math"
	"slices"
	"time"
)

// Summary describes durations in seconds. Count, Min, Max and Mean are of all samples, P50 and P95 (nearest rank) of the last 4096.
type Summary struct {
	Count int64   `json:"count"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	Max   float64 `json:"max"`
	Mean  float64 `json:"mean"`
}

// series collects the samples of one summary.
type series struct {
	count         int64
	min, max, sum time.Duration
	last          newest[time.Duration]
}

func (s *series) add(d time.Duration) {
	if s.count == 0 {
		s.min, s.max = d, d
	}
	s.count++
	s.sum += d
	s.min, s.max = min(s.min, d), max(s.max, d)
	s.last.add(d)
}

// summary is nil when there is no sample.
func (s *series) summary() *Summary {
	if s.count == 0 {
		return nil
	}
	sorted := s.last.list()
	slices.Sort(sorted)
	rank := func(p float64) float64 {
		return sorted[int(math.Ceil(p*float64(len(sorted))))-1].Seconds()
	}
	return &Summary{
		Count: s.count, Min: s.min.Seconds(), P50: rank(0.50), P95: rank(0.95), Max: s.max.Seconds(),
		Mean: s.sum.Seconds() / float64(s.count),
	}
}

// newest keeps the last factsMax things.
type newest[T any] struct {
	ring []T
	next int
}

func (n *newest[T]) add(v T) {
	if len(n.ring) < factsMax {
		n.ring = append(n.ring, v)
		return
	}
	n.ring[n.next] = v
	n.next = (n.next + 1) % factsMax
}

// list copies them, oldest first.
func (n *newest[T]) list() []T {
	return append(slices.Clone(n.ring[n.next:]), n.ring[:n.next]...)
}
