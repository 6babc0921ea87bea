package bench

import (
	"fmt"
	"time"
)

// Plan is when requests are meant to be sent.
type Plan struct {
	// Rate is in requests a second, evenly spaced.
	Rate float64
	// Duration is the length of the schedule.
	Duration time.Duration
	// DrainMax is how long after the end of the schedule late requests are still sent; what is left then counts as dropped. 0 means DefaultDrainMax.
	DrainMax time.Duration
}

// DefaultDrainMax is how long a run waits for a server that fell behind.
const DefaultDrainMax = 10 * time.Second

// arrivalsMax bounds the memory of one run: a sample is some 32 bytes.
const arrivalsMax = 50_000_000

// Validate answers ErrPlan for a plan that cannot be run.
func (p Plan) Validate() error {
	if !(p.Rate > 0) || p.Duration <= 0 || p.DrainMax < 0 {
		return fmt.Errorf("%w: rate %g/s for %s with a drain of %s", ErrPlan, p.Rate, p.Duration, p.DrainMax)
	}
	if n := p.Rate * p.Duration.Seconds(); n < 1 || n > arrivalsMax {
		return fmt.Errorf("%w: %.0f requests, want 1 to %d", ErrPlan, n, arrivalsMax)
	}
	return nil
}

// Arrivals is the number of requests.
func (p Plan) Arrivals() int { return int(p.Rate*p.Duration.Seconds() + 0.5) }

// Intended is when request i, counted from 0, is meant to be sent, from the start of the run.
func (p Plan) Intended(i int) time.Duration {
	return time.Duration(float64(i) / p.Rate * float64(time.Second))
}

func (p Plan) drainMax() time.Duration {
	if p.DrainMax == 0 {
		return DefaultDrainMax
	}
	return p.DrainMax
}
