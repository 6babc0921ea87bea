package e2e_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"telefuser/internal/bench/viewer"
)

// listen joins with an answer of the API and keeps what is heard.
func listen(t *testing.T, ticket map[string]any) *viewer.Viewer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
	defer cancel()
	v, err := viewer.Join(ctx, ticket["livekit_url"].(string), ticket["token"].(string), viewer.Options{KeepSound: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// TestAWorldIsHeard flies with sound through `telefuser dev`, from the engine's samples to a viewer's Opus frames; a flight that did not ask for sound has none.
func TestAWorldIsHeard(t *testing.T) {
	if libraries, err := exec.Command("ldconfig", "-p").Output(); err != nil || !strings.Contains(string(libraries), "libopus.so.0") {
		t.Skip("libopus is missing: apt-get install libopus0")
	}
	env, dir := toolsEnv(t), shortDir(t)
	dev := start(t, spawn{name: "dev", path: program(t), env: env, dir: dir,
		args: []string{"dev", "--port", "0", "--data-dir", filepath.Join(dir, "data"), "--log-format", "json", "--max-sessions-per-worker", "2"}})
	c := liveClient{base: lineOf(t, dev, "ready")}
	lineOf(t, dev, "live")
	ask := func(identity string, config fields) map[string]any {
		config["size"] = "192x128"
		return c.must(t, 200, "POST", "/v1/stream/sessions", fields{"identity": identity, "prompt": "islands", "config": config})
	}
	loud := listen(t, ask("loud", fields{"sound": true}))
	quiet := listen(t, ask("quiet", fields{}))
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
	defer cancel()
	const packets = 100 // two seconds
	if err := loud.WaitSounds(ctx, packets); err != nil {
		t.Fatal(err)
	}
	awaitFrames(t, loud, 16)
	awaitFrames(t, quiet, 16)
	if n := quiet.Stats().Sounds; n != 0 {
		t.Errorf("%d packets of sound in a session without", n)
	}
	bytes := 0
	for _, s := range loud.Sounds() {
		bytes += len(s.Data)
	}
	// Silence takes 3 bytes a packet.
	if mean := bytes / packets; mean < 20 {
		t.Errorf("a packet has %d bytes: that is silence", mean)
	}
	if status, answer := c.do(t, "POST", "/v1/videos", fields{"model": "terrain", "prompt": "islands", "sound": true}); status != 400 || !strings.Contains(answer["error"].(map[string]any)["message"].(string), "live") {
		t.Errorf("a file with sound: %d %v", status, answer)
	}
	dev.stop(t)
}
