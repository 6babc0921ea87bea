package e2e_test

import (
	"encoding/base64"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"telefuser/internal/devstack"
)

// modelsProgram is the program with small models of the true structure in its table, which no program has that people run.
func modelsProgram(t *testing.T) string {
	t.Helper()
	path, err := builtWithModels()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var builtWithModels = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "telefuser-models")
	cmd := exec.Command("go", "build", "-tags", "faults", "-o", path, "telefuser/cmd/telefuser")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

// TestAFilmThroughTheService asks for a video of a model that denoises all of it at once, of a whole stack that has a media server at hand.
func TestAFilmThroughTheService(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	dev := start(t, spawn{name: "dev", path: modelsProgram(t), dir: dir, env: toolsEnv(t),
		args: []string{"dev", "--port", "0", "--data-dir", filepath.Join(dir, "data"), "--log-format", "json", "--default-model", "small-film", "--weights", "random:11"}})
	c := newClient(lineOf(t, dev, "ready"))
	v := c.make(t, fields{"model": "small-film", "prompt": "a road through hills", "size": "32x64", "num_frames": 17, "num_inference_steps": 3, "seed": 5})
	if v.Weights != "random:11" {
		t.Errorf("its weights are %q", v.Weights)
	}
	if got := probe(t, c.content(t, v.ID, "")); got.width != 32 || got.height != 64 || got.frames != 17 || got.fps != "16" || got.codec != "h264" {
		t.Errorf("ffprobe: %+v", got)
	}
	if _, err := c.post(t.Context(), fields{"model": "small-film", "prompt": "a road", "num_frames": 16}, nil); statusOf(err) != 400 || !strings.Contains(err.Error(), `"num_frames"`) {
		t.Errorf("16 frames: %v", err)
	}
	dev.stop(t)
}

// TestASmallWorldOutlivesItsEngine flies through a small LingBot-World, kills its engine on the way, and wants the flight to go on where it was.
func TestASmallWorldOutlivesItsEngine(t *testing.T) {
	toolsEnv(t)
	dir := shortDir(t)
	media, err := devstack.StartLiveKit(t.Context(), filepath.Join(dir, "livekit"), devstack.LiveKitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(media.Stop)
	serve := start(t, spawn{name: "stream-serve", path: modelsProgram(t), dir: dir, env: []string{"TELEFUSER_LIVEKIT_API_SECRET=" + media.APISecret},
		args: []string{"stream-serve", "small-world", "--livekit-url", media.URL, "--livekit-api-key", media.APIKey, "--port", "0",
			"--data-dir", filepath.Join(dir, "data"), "--log-format", "json"}})
	c := liveClient{base: lineOf(t, serve, "ready")}
	look := "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture(t, 64, 32))
	for param, body := range map[string]fields{
		"pipeline": {"identity": "pilot", "pipeline": "small-film"}, "input_reference": {"identity": "pilot"}, "num_frames": {"identity": "pilot", "image": look, "num_frames": 78},
	} {
		status, answer := c.do(t, "POST", "/v1/stream/sessions", body)
		if e, _ := answer["error"].(map[string]any); status != 400 || e["param"] != param {
			t.Errorf("a session with %v: %d %v", body, status, answer)
		}
	}
	ticket := c.must(t, 200, "POST", "/v1/stream/sessions", fields{"identity": "pilot", "prompt": "a road through hills", "image": look})
	pilot := watch(t, ticket)
	awaitFrames(t, pilot, 1)
	holdKeys(t, pilot, "w")
	depth, deeper := flownBeyond("z")
	awaitStatus(t, pilot, "the flight to be on its way", deeper(1))
	if err := syscall.Kill(enginePID(t, serve), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	before := *depth
	awaitStatus(t, pilot, "the flight to go on", deeper(before+2))
	if *depth > before+20 {
		t.Errorf("the flight went on at %v after %v, as if it were another one", *depth, before)
	}
	id := ticket["session_id"].(string)
	if now := c.must(t, 200, "GET", "/v1/stream/sessions/"+id, nil); now["status"] != "running" {
		t.Errorf("after its engine died it is %v", now)
	}
	c.must(t, 200, "DELETE", "/v1/stream/sessions/"+id, nil)
	serve.stop(t)
}
