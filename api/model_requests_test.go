package api_test

import (
	"strings"
	"testing"
)

// TestRequestsThatModelsCannotMake are refused by the field at fault, before there is a job or a session that an engine would see.
func TestRequestsThatModelsCannotMake(t *testing.T) {
	var l live
	s := newStack(t, withSessions(t, &l))
	const film, pair, sight, world, fast = "wan2.1-t2v-1.3b", "wan2.2-i2v-a14b", "wan2.1-i2v-14b", "lingbot-world-v2", "lingbot-world-fast"
	look := dataURL(testPNG(t, 832, 480))
	flight := func(pose string) map[string]any {
		return map[string]any{"model": world, "input_reference": look, "camera": `{"poses":[{"z":1},` + pose + `]}`}
	}
	for name, c := range map[string]struct {
		fields map[string]any
		param  string
	}{
		"80 frames": {map[string]any{"model": film, "num_frames": 80}, "num_frames"}, "85 frames": {map[string]any{"model": film, "num_frames": 85}, "num_frames"},
		"no frames": {map[string]any{"model": film, "num_frames": 0}, "num_frames"}, "7 s": {map[string]any{"model": film, "seconds": 7}, "seconds"},
		"a large size": {map[string]any{"model": film, "size": "1280x720"}, "size"}, "any size": {map[string]any{"model": film, "size": "640x480"}, "size"},
		"another rate": {map[string]any{"model": film, "fps": 24}, "fps"}, "a camera": {map[string]any{"model": film, "camera": []any{}}, "camera"},
		"a picture": {map[string]any{"model": film, "input_reference": look}, "input_reference"}, "no steps": {map[string]any{"model": film, "num_inference_steps": 0}, "num_inference_steps"},
		"many steps": {map[string]any{"model": film, "num_inference_steps": 201}, "num_inference_steps"}, "a second scale": {map[string]any{"model": film, "guidance_scale_2": 3}, "guidance_scale_2"},
		"no picture": {map[string]any{"model": pair}, "input_reference"}, "no picture to see": {map[string]any{"model": sight}, "input_reference"}, "a world without a picture": {map[string]any{"model": world}, "input_reference"},
		"a world upright": {map[string]any{"model": world, "size": "480x832", "input_reference": dataURL(testPNG(t, 480, 832))}, "size"},
		"78 frames":       {map[string]any{"model": world, "input_reference": look, "num_frames": 78}, "num_frames"},
		"21 s":            {map[string]any{"model": fast, "input_reference": look, "seconds": 21}, "seconds"},
		"another chunk":   {map[string]any{"model": fast, "input_reference": look, "chunk_size": 4}, "chunk_size"},
		"a pose of text":  {flight(`{"x":"a"}`), "camera"}, "a pose far away": {flight(`{"x":1e9}`), "camera"}, "a pose without end": {flight(`{"yaw":1e400}`), "camera"},
		"a pose of a matrix": {flight(`[[1,0,0,0]]`), "camera"},
	} {
		c.fields["prompt"] = "a road"
		if p := s.postJSON(t, "/v1/videos", c.fields).problem(t, 400); p["param"] != c.param {
			t.Errorf("%s: %v", name, p)
		}
	}
	for name, c := range map[string]struct {
		fields map[string]any
		param  string
	}{
		"a film by model": {map[string]any{"model": film}, "model"}, "a film by pipeline": {map[string]any{"pipeline": pair}, "pipeline"},
		"no picture": {map[string]any{"pipeline": world}, "input_reference"}, "another size": {map[string]any{"pipeline": world, "image": look, "size": "480x832"}, "size"},
		"a small picture": {map[string]any{"pipeline": world, "image": dataURL(testPNG(t, 96, 64))}, "input_reference"},
		"78 frames":       {map[string]any{"pipeline": world, "image": look, "num_frames": 78}, "num_frames"},
	} {
		p := s.session(t, c.fields).problem(t, 400)
		if text, _ := p["message"].(string); p["param"] != c.param || strings.HasPrefix(name, "a film") && !strings.Contains(text, "/v1/videos") {
			t.Errorf("a session with %s: %v", name, p)
		}
	}
	if page := s.request(t, "GET", "/v1/videos", nil).object(t, 200)["data"].([]any); len(page) != 0 {
		t.Errorf("%d videos were made", len(page))
	}
	if _, made := l.rooms.count(); made != 0 || len(s.objects(t)) != 0 {
		t.Errorf("%d rooms were made, and %v", made, s.objects(t))
	}
}
