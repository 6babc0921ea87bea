package e2e_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

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
		w, tolerance = w.Cut(109), 2 // how fast they come on a busy machine is measured elsewhere
		w.Size = "320x192"
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

// TestLiveReplayCommand lets the program play a short session on a server that is there.
func TestLiveReplayCommand(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is missing: apt-get install ffmpeg")
	}
	f := startFleet(t, 1)
	p := start(t, spawn{name: "bench", path: program(t), dir: f.dir,
		args: []string{"bench", "replay", "--url", f.clients[0].base, "--frames", "93", "--size", "192x128", "--json"}})
	p.waitEnd(t, readyTimeout)
	var r replay.Result
	if err := json.Unmarshal([]byte(p.stdout.String()), &r); err != nil {
		t.Fatalf("%v: %q\n%s", err, p.stdout, p.stderr)
	}
	if bad := r.Problems(replay.OneMinute().Cut(93), 16); len(bad) > 0 {
		t.Error(bad)
	}
	// Only that the rate was off, as on a busy machine, is no reason to distrust it here.
	if p.err != nil && !strings.Contains(p.stderr.String(), "frames a second at the viewer") {
		t.Errorf("it ended with %v: %s", p.err, p.stderr)
	}
}
