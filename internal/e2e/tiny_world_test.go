package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"telefuser/internal/devstack"
)

// modelsDir is the folder that holds tiny-world with its weights, which are no part of the repository: $TELEFUSER_MODELS, or one beside the checkout. Without
// them the test is skipped.
func modelsDir(t *testing.T) string {
	t.Helper()
	places := []string{inherited("TELEFUSER_MODELS"), filepath.Join(repository(t), "..", "shared")}
	for _, dir := range places {
		if _, err := os.Stat(filepath.Join(dir, "tiny-world", "dit.safetensors")); dir != "" && err == nil {
			return dir
		}
	}
	t.Skipf("the weights of tiny-world are in none of %q: set TELEFUSER_MODELS to the folder that holds tiny-world", places)
	return ""
}

// TestTinyWorldIsFlownLive flies through the model's world with a picture to begin with, kills its engine on the way, and wants the flight to go on; then a
// session with a length is delivered frame by frame.
func TestTinyWorldIsFlownLive(t *testing.T) {
	models := modelsDir(t)
	toolsEnv(t)
	dir := shortDir(t)
	media, err := devstack.StartLiveKit(t.Context(), filepath.Join(dir, "livekit"), devstack.LiveKitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(media.Stop)
	serve := start(t, spawn{name: "stream-serve", path: program(t), dir: dir, env: []string{"TELEFUSER_LIVEKIT_API_SECRET=" + media.APISecret},
		args: []string{"stream-serve", "tiny-world", "--models-dir", models, "--livekit-url", media.URL, "--livekit-api-key", media.APIKey, "--port", "0",
			"--data-dir", filepath.Join(dir, "data"), "--log-format", "json"}})
	c := liveClient{base: lineOf(t, serve, "ready")}
	look := "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture(t, 160, 96))
	ticket := c.must(t, 200, "POST", "/v1/stream/sessions", fields{"identity": "pilot", "prompt": "a green meadow", "image": look})
	pilot := watch(t, ticket)
	awaitFrames(t, pilot, 1)
	holdKeys(t, pilot, "w", "l")
	depth, further := flownBeyond("yaw")
	awaitStatus(t, pilot, "the flight to be on its way", further(0.5))
	if err := syscall.Kill(enginePID(t, serve), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	before := *depth
	awaitStatus(t, pilot, "the flight to go on", further(before+0.2))
	if *depth > before+2 {
		t.Errorf("the flight went on at %v, as if it were another one", *depth)
	}
	c.must(t, 200, "DELETE", "/v1/stream/sessions/"+ticket["session_id"].(string), nil)
	waitFor(t, readyTimeout, "the worker to be idle", func() bool { return c.must(t, 200, "GET", "/v1/stream/health", nil)["workers_idle"] == 1.0 })

	ticket = c.must(t, 200, "POST", "/v1/stream/sessions", fields{"identity": "pilot", "prompt": "a desert",
		"config": fields{"frame_num": 45, "delivery_mode": "lossless"}})
	client := watch(t, ticket)
	holdKeys(t, client, "w")
	var frames float64
	awaitStatus(t, client, "done", func(message, _ map[string]any) bool {
		frames, _ = message["published_frames"].(float64)
		return message["type"] == "done"
	})
	awaitFrames(t, client, 45)
	ack, err := json.Marshal(fields{"type": "delivery_ack", "published_frames": client.Stats().Frames})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Send("tf.control", ack); err != nil {
		t.Fatal(err)
	}
	session := "/v1/stream/sessions/" + ticket["session_id"].(string)
	waitFor(t, readyTimeout, "the session to end", func() bool { return c.must(t, 200, "GET", session, nil)["ended_at"] != nil })
	if ended := c.must(t, 200, "GET", session, nil); ended["outcome"] != "verified" || frames != 45 {
		t.Errorf("of %v frames: %v", frames, ended)
	}
	serve.stop(t)
}
