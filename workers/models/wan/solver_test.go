package wan_test

import (
	"errors"
	"math"
	"testing"

	"telefuser/workers/models/wan"
)

// gaussian is the true flow of data with a standard deviation of s: on its way, x keeps its quantile.
type gaussian struct{ s float64 }

func (g gaussian) deviation(sigma float64) float64 { return math.Hypot((1-sigma)*g.s, sigma) }

func (g gaussian) flow(x, sigma float64) float64 {
	d := g.deviation(sigma)
	return x * (sigma - (1-sigma)*g.s*g.s) / (d * d)
}

// walk solves the flow of a gaussian from the first level on and answers how far the end is from the truth.
func walk(t *testing.T, make func([]float64) (wan.Solver, error), n int) float64 {
	t.Helper()
	g := gaussian{0.5}
	sigmas := wan.FlowSigmas(3, n)
	s, err := make(sigmas)
	if err != nil {
		t.Fatal(err)
	}
	start := []float64{-1.5, -0.2, 0.7, 2}
	x, want := []float32{}, []float64{}
	for _, v := range start {
		x, want = append(x, float32(v)), append(want, v/g.deviation(sigmas[0])*g.deviation(0))
	}
	steps := 0
	for {
		time, ok := s.Time()
		if !ok {
			break
		}
		if math.Abs(time-1000*sigmas[steps]) >= 1 {
			t.Fatalf("step %d is at time %g", steps, time)
		}
		flow := make32(x, func(v float64) float64 { return g.flow(v, sigmas[steps]) })
		s.Next(x, flow)
		steps++
	}
	if steps != n {
		t.Fatalf("%d steps, want %d", steps, n)
	}
	var worst float64
	for i := range x {
		worst = max(worst, math.Abs(float64(x[i])-want[i]))
	}
	return worst
}

func make32(x []float32, f func(float64) float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(f(float64(v)))
	}
	return out
}

// TestSolversConverge halves the steps' length: Euler's error halves, that of UniPC falls to a quarter or less.
func TestSolversConverge(t *testing.T) {
	e1, e2 := walk(t, wan.NewEuler, 20), walk(t, wan.NewEuler, 40)
	if r := e1 / e2; r < 1.7 || r > 2.4 {
		t.Errorf("Euler: %.2g, then %.2g", e1, e2)
	}
	u1, u2 := walk(t, wan.NewUniPC, 20), walk(t, wan.NewUniPC, 40)
	if r := u1 / u2; r < 3.2 || u1 > e1/4 {
		t.Errorf("UniPC: %.2g, then %.2g, Euler %.2g", u1, u2, e1)
	}
}

func TestSigmas(t *testing.T) {
	s := wan.Sigmas(10, 4)
	for i, u := range []float64{1, 0.75, 0.5, 0.25} {
		if want := 10 * u / (1 + 9*u); math.Abs(s[i]-want) > 1e-15 {
			t.Errorf("step %d at %g, want %g", i, s[i], want)
		}
	}
	for _, bad := range [][]float64{nil, {0}, {1, 0.5}, {0.5, 1, 0}, {math.NaN(), 0}, {2, 0}} {
		if _, err := wan.NewEuler(bad); !errors.Is(err, wan.ErrConfig) {
			t.Errorf("%v: %v", bad, err)
		}
		if _, err := wan.NewUniPC(bad); !errors.Is(err, wan.ErrConfig) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestTrainedSigmas holds the steps of LingBot-World v2 to numbers worked out by hand: s = 0.999 (1 - i/1000), shifted by 10.
func TestTrainedSigmas(t *testing.T) {
	sigmas, times, err := wan.TrainedSigmas(10, 0, 250, 500, 750)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{9.99 / 9.991, 7.4925 / 7.74325, 4.995 / 5.4955, 2.4975 / 3.24775} {
		if math.Abs(sigmas[i]-want) > 1e-12 || times[i] != math.Floor(1000*want) {
			t.Errorf("step %d: level %v at time %v, want %v", i, sigmas[i], times[i], want)
		}
	}
	if times[0] != 999 {
		t.Errorf("the first time is %v", times[0])
	}
	for _, steps := range [][]int{{-1}, {1000}, {0, 0}, {250, 0}} {
		if _, _, err := wan.TrainedSigmas(10, steps...); !errors.Is(err, wan.ErrConfig) {
			t.Errorf("steps %v: %v", steps, err)
		}
	}
}
