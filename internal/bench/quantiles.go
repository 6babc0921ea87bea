package bench

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Quantiles are durations in milliseconds. A nil one is unknown: there are too few samples to tell it (fewer than 10 beyond it), or it falls among
// the requests that failed.
type Quantiles struct {
	P50  *float64 `json:"p50"`
	P90  *float64 `json:"p90"`
	P95  *float64 `json:"p95"`
	P99  *float64 `json:"p99"`
	P999 *float64 `json:"p99_9"`
	Max  *float64 `json:"max"`
}

// beyondMin is how many samples must lie beyond a quantile for it to be told.
const beyondMin = 10

// NewQuantiles computes them from every sample, between two neighbours by linear interpolation. failed requests are taken as slower than all others.
// It sorts the samples in place.
func NewQuantiles(samples []time.Duration, failed int) Quantiles {
	slices.Sort(samples)
	at := func(q float64) *float64 { return quantile(samples, failed, q) }
	out := Quantiles{P50: at(0.50), P90: at(0.90), P95: at(0.95), P99: at(0.99), P999: at(0.999)}
	if failed == 0 && len(samples) > 0 {
		out.Max = milliseconds(float64(samples[len(samples)-1]))
	}
	return out
}

// quantile answers the q-quantile of sorted samples followed by failed endless ones.
func quantile(sorted []time.Duration, failed int, q float64) *float64 {
	n := len(sorted) + failed
	// The small addend forgives that 1 - 0.9 is not exactly 0.1.
	if n == 0 || float64(n)*(1-q)+1e-6 < beyondMin {
		return nil
	}
	rank := q * float64(n-1)
	low, high := int(math.Floor(rank)), int(math.Ceil(rank))
	if high >= len(sorted) {
		return nil
	}
	share := rank - float64(low)
	return milliseconds(float64(sorted[low])*(1-share) + float64(sorted[high])*share)
}

// String is for people.
func (q Quantiles) String() string {
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, p99.9 %s, max %s ms", cell(q.P50), cell(q.P90), cell(q.P99), cell(q.P999), cell(q.Max))
}

func milliseconds(ns float64) *float64 {
	ms := ns / float64(time.Millisecond)
	return &ms
}
