package e2e_test

import (
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPictureIsSeenThroughTheService asks for a video of a model that begins with a picture and reads its features, and is refused without one.
func TestAPictureIsSeenThroughTheService(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	dev := start(t, spawn{name: "dev", path: modelsProgram(t), dir: dir, env: toolsEnv(t),
		args: []string{"dev", "--port", "0", "--data-dir", filepath.Join(dir, "data"), "--log-format", "json", "--default-model", "small-sight"}})
	c := newClient(lineOf(t, dev, "ready"))
	wish := fields{"model": "small-sight", "prompt": "a road through hills", "size": "64x32", "num_frames": 5, "num_inference_steps": 2, "seed": 5}
	if _, err := c.post(t.Context(), wish, nil); statusOf(err) != 400 || !strings.Contains(err.Error(), `"input_reference"`) {
		t.Errorf("without a picture: %v", err)
	}
	look := fields{"image_url": "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture(t, 64, 32))}
	v := c.make(t, wish.with(fields{"input_reference": look}))
	if got := probe(t, c.content(t, v.ID, "")); got.width != 64 || got.height != 32 || got.frames != 5 || got.codec != "h264" {
		t.Errorf("ffprobe: %+v", got)
	}
	dev.stop(t)
}
