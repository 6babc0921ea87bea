package terrain_test

import (
	"math"
	"slices"
	"testing"

	"telefuser/workers/models/terrain"
)

func loudness(pcm []int16) float64 {
	sum := 0.0
	for _, v := range pcm {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum/float64(len(pcm))) / math.MaxInt16
}

func TestWindGetsLouderWithSpeed(t *testing.T) {
	const second = 48_000
	w := terrain.NewWind(7)
	w.Blow(nil, second, 0)
	before := 0.0
	for _, speed := range []float64{0, 0.8, 6} {
		w.Blow(nil, second, speed)
		now := loudness(w.Blow(nil, 10*second, speed))
		if now < before*1.3 || now < 0.01 || now > 0.6 {
			t.Errorf("at speed %g it is as loud as %.3f, before it was %.3f", speed, now, before)
		}
		before = now
	}
}

func TestWindDoesNotDependOnHowItIsCut(t *testing.T) {
	whole := terrain.NewWind(3).Blow(nil, 3000, 5)
	w := terrain.NewWind(3)
	var parts []int16
	for _, n := range []int{1, 999, 2000} {
		parts = w.Blow(parts, n, 5)
	}
	if !slices.Equal(whole, parts) {
		t.Error("parts are not the whole")
	}
	if slices.Equal(whole, terrain.NewWind(4).Blow(nil, 3000, 5)) {
		t.Error("another seed sounds the same")
	}
}
