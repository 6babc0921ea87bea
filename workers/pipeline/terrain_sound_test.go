package pipeline_test

import (
	"math"
	"testing"

	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

// TestALiveFlightHasSoundOnlyWhenItIsAskedFor counts what is heard against what is seen, at a rate that does not divide the sound's.
func TestALiveFlightHasSoundOnlyWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	req := request(0)
	req.FPS = 7
	req.Parameters = map[string]any{"sound": true}
	loud := open(t, req)
	frames, heard := 0, 0
	for range 4 {
		c := next(t, loud)
		frames += len(c.Frames)
		if c.Sound == nil || c.Sound.Channels != 1 {
			t.Fatalf("chunk %d has the sound %+v", c.Index, c.Sound)
		}
		heard += c.Sound.Moments()
	}
	if want := frames * media.SoundRate / 7; heard != want {
		t.Errorf("%d moments are heard with %d frames, want %d", heard, frames, want)
	}
	req.Parameters = map[string]any{"sound": false}
	if c := next(t, open(t, req)); c.Sound != nil {
		t.Error("a session without sound has one")
	}
	bounded := request(17)
	bounded.Parameters = map[string]any{"sound": true}
	if c := next(t, open(t, bounded)); c.Sound != nil {
		t.Error("a file has sound")
	}
}

func TestFlyingIsLouderThanStandingStill(t *testing.T) {
	t.Parallel()
	req := request(0)
	req.Parameters = map[string]any{"sound": true}
	session := open(t, req)
	power := func() float64 {
		sum, n := 0.0, 0
		for range 4 {
			for _, v := range next(t, session).Sound.PCM {
				sum += float64(v) * float64(v)
				n++
			}
		}
		return math.Sqrt(sum / float64(n))
	}
	still := power()
	keys := "w"
	if err := session.Control(t.Context(), pipeline.Control{Keys: &keys}); err != nil {
		t.Fatal(err)
	}
	if flying := power(); flying < 1.3*still {
		t.Errorf("flying has the loudness %.0f, standing still %.0f", flying, still)
	}
}
