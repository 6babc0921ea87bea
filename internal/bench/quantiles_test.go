package bench_test

import (
	"math"
	"testing"
	"time"

	"telefuser/internal/bench"
)

// ramp is 1 ms, 2 ms ... n ms, largest first.
func ramp(n int) []time.Duration {
	var out []time.Duration
	for i := n; i > 0; i-- {
		out = append(out, time.Duration(i)*time.Millisecond)
	}
	return out
}

func TestQuantiles(t *testing.T) {
	unknown := math.NaN()
	tests := []struct {
		name                    string
		samples                 []time.Duration
		failed                  int
		p50, p90, p99, p999, mx float64
	}{
		// The expected values are those of linear interpolation at rank q*(n-1).
		{"a ramp", ramp(1000), 0, 500.5, 900.1, 990.01, unknown, 1000},
		{"enough for the thousandth", ramp(10_000), 0, 5000.5, 9000.1, 9900.01, 9990.001, 10_000},
		{"too few for the hundredth", ramp(999), 0, 500, 899.2, unknown, unknown, 999},
		{"too few for anything", ramp(19), 0, unknown, unknown, unknown, unknown, 19},
		{"nothing", nil, 0, unknown, unknown, unknown, unknown, unknown},
		{"failures are the slowest", ramp(990), 10, 500.5, 900.1, unknown, unknown, unknown},
		{"failures in the middle", ramp(800), 200, 500.5, unknown, unknown, unknown, unknown},
		{"all failed", nil, 1000, unknown, unknown, unknown, unknown, unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := bench.NewQuantiles(tt.samples, tt.failed)
			for _, c := range []struct {
				name string
				got  *float64
				want float64
			}{{"p50", q.P50, tt.p50}, {"p90", q.P90, tt.p90}, {"p99", q.P99, tt.p99}, {"p99.9", q.P999, tt.p999}, {"max", q.Max, tt.mx}} {
				switch {
				case math.IsNaN(c.want) && c.got != nil:
					t.Errorf("%s is %g, want unknown", c.name, *c.got)
				case !math.IsNaN(c.want) && c.got == nil:
					t.Errorf("%s is unknown, want %g", c.name, c.want)
				case c.got != nil && math.Abs(*c.got-c.want) > 1e-6:
					t.Errorf("%s is %g, want %g", c.name, *c.got, c.want)
				}
			}
		})
	}
}
