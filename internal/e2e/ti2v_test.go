package e2e_test

import (
	"bytes"
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"
)

// TestTextOrPictureThroughTheService asks one model for a video from a text, and for one that begins with a picture; the true model of that kind refuses, without
// an engine of its own, what it cannot make.
func TestTextOrPictureThroughTheService(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	dev := start(t, spawn{name: "dev", path: modelsProgram(t), dir: dir, env: toolsEnv(t),
		args: []string{"dev", "--port", "0", "--data-dir", filepath.Join(dir, "data"), "--log-format", "json", "--default-model", "small-ti2v", "--weights", "random:11"}})
	c := newClient(lineOf(t, dev, "ready"))
	text := fields{"model": "small-ti2v", "prompt": "a road through hills", "size": "64x32", "num_frames": 17, "num_inference_steps": 2, "seed": 5}
	look := text.with(fields{"input_reference": map[string]string{"image_url": "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture(t, 64, 32))}})
	var made [][]byte
	for _, f := range []fields{text, look, text} {
		mp4 := c.content(t, c.make(t, f).ID, "")
		if got := probe(t, mp4); got.width != 64 || got.height != 32 || got.frames != 17 || got.fps != "24" || got.codec != "h264" {
			t.Errorf("ffprobe: %+v", got)
		}
		made = append(made, mp4)
	}
	if bytes.Equal(made[0], made[1]) || !bytes.Equal(made[0], made[2]) {
		t.Error("a picture changes nothing, or a text is another one behind it")
	}
	for param, f := range map[string]fields{
		"size": {"size": "1280x720"}, "num_frames": {"num_frames": 120}, "seconds": {"seconds": "6"}, "guidance_scale_2": {"guidance_scale_2": 3},
	} {
		if _, err := c.post(t.Context(), fields{"model": "wan2.2-ti2v-5b", "prompt": "a road"}.with(f), nil); statusOf(err) != 400 || !strings.Contains(err.Error(), `"`+param+`"`) {
			t.Errorf("%v: %v", f, err)
		}
	}
	dev.stop(t)
}
