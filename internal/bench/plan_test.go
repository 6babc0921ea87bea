package bench_test

import (
	"errors"
	"testing"
	"time"

	"telefuser/internal/bench"
)

func TestPlanIsExact(t *testing.T) {
	p := bench.Plan{Rate: 3, Duration: 10 * time.Second}
	if got := p.Arrivals(); got != 30 {
		t.Errorf("%d arrivals, want 30", got)
	}
	// No error adds up: every third request falls on a whole second.
	for i := range 10 {
		if got, want := p.Intended(3*i), time.Duration(i)*time.Second; got != want {
			t.Errorf("request %d at %s, want %s", 3*i, got, want)
		}
	}
}

func TestPlanRefusesNonsense(t *testing.T) {
	for name, p := range map[string]bench.Plan{
		"no rate":       {Duration: time.Second},
		"negative rate": {Rate: -1, Duration: time.Second},
		"no duration":   {Rate: 1},
		"no request":    {Rate: 0.1, Duration: time.Second},
		"too many":      {Rate: 1e9, Duration: time.Second},
		"odd drain":     {Rate: 1, Duration: time.Second, DrainMax: -1},
	} {
		if err := p.Validate(); !errors.Is(err, bench.ErrPlan) {
			t.Errorf("%s: %v, want ErrPlan", name, err)
		}
	}
}
