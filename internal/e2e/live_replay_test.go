package e2e_test

import (
	"os/exec"
	"testing"
	"time"

	"telefuser/internal/bench"
	"telefuser/internal/bench/replay"
)

// TestLiveReplay plays the workload that streaming services are compared by, shortened: every frame is declared, published, received and decoded once, and the
// outcome is verified. LIVE_LONG makes it the whole minute and holds the rate to its bar.
func TestLiveReplay(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is missing: apt-get install ffmpeg")
	}
	f := startFleet(t, 1)
	w, tolerance := replay.OneMinute(), replay.RateTolerance
	if !longRun() {
		w.Frames, w.Size, tolerance = 109, "320x192", 2 // how fast they come on a busy machine is measured elsewhere
		w.Chunks, w.Keys = replay.ChunksOf(w.Frames), []replay.Key{{After: 500 * time.Millisecond, Key: "ArrowUp"}}
	}
	result, err := replay.Run(t.Context(), bench.Target{URL: f.clients[0].base}, w, ffmpeg)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + result.String())
	for _, bad := range result.Problems(w, tolerance) {
		t.Error(bad)
	}
}
