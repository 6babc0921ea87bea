package pipeline

import (
	"slices"
	"testing"
)

// TestLingBotTimes holds the few steps of both models to their published schedule: a shift of 10, and the whole-numbered times that come of it.
func TestLingBotTimes(t *testing.T) {
	for name, c := range map[string]struct {
		kind worldKind
		want []float64
	}{
		"v2":   {lingbotV2Kind(), []float64{999, 967, 908, 768}},
		"fast": {lingbotFastKind(), []float64{999, 978, 947, 825}},
	} {
		_, times, err := c.kind.schedule()
		if err != nil || !slices.Equal(times, c.want) {
			t.Errorf("%s: times %v, want %v: %v", name, times, c.want, err)
		}
	}
}
