package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestRemixEditExtend(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	picture := dataURL(testPNG(t, 64, 64))
	source := s.completed(t, map[string]any{"model": "terrain", "size": "64x64", "seconds": 4, "fps": 8, "seed": 7, "speed": 2, "input_reference": picture})
	id := source["id"].(string)
	for name, r := range map[string]reply{
		"remix":           s.postJSON(t, "/v1/videos/"+id+"/remix", `{"prompt":"by night"}`),
		"remix form":      s.postForm(t, "/v1/videos/"+id+"/remix", field("prompt", "by night")),
		"edit JSON":       s.postJSON(t, "/v1/videos/edits", map[string]any{"prompt": "by night", "video": map[string]string{"id": id}}),
		"edit brackets":   s.postForm(t, "/v1/videos/edits", field("prompt", "by night"), field("video[id]", id)),
		"edit JSON text":  s.postForm(t, "/v1/videos/edits", field("prompt", "by night"), field("video", `{"id":"`+id+`"}`)),
		"edit plain id":   s.postForm(t, "/v1/videos/edits", field("prompt", "by night"), field("video", id)),
		"extend JSON":     s.postJSON(t, "/v1/videos/extensions", map[string]any{"prompt": "by night", "seconds": "8", "video": map[string]string{"id": id}}),
		"extend brackets": s.postForm(t, "/v1/videos/extensions", field("prompt", "by night"), field("seconds", "8"), field("video[id]", id)),
		"remix changes":   s.postJSON(t, "/v1/videos/"+id+"/remix", `{"prompt":"by night","seed":0,"speed":1,"metadata":{"a":"b"}}`),
	} {
		v := r.object(t, 200)
		job, err := s.jobs.Get(t.Context(), "local", v["id"].(string))
		if err != nil {
			t.Fatal(err)
		}
		spec := job.Spec
		wantTask, wantSeconds, wantFrames, wantSeed, wantSpeed := strings.Fields(name)[0], "4", 32, int64(7), 2.0
		if wantTask == "extend" {
			wantSeconds, wantFrames = "12", 64
		}
		if name == "remix changes" {
			wantSeed, wantSpeed = 0, 1
		}
		if spec.Task != wantTask || spec.Seconds != wantSeconds || spec.Frames != wantFrames || spec.Seed != wantSeed || spec.Parameters["speed"] != wantSpeed ||
			spec.Width != 64 || spec.FPS != 8 || spec.Prompt != "by night" || spec.WorldPrompt != "a lake" || spec.Source == nil || spec.Source.ID != id || string(spec.Source.State) != "end" {
			t.Errorf("%s: the job is %+v", name, spec)
		}
		if spec.ImageKey != "inputs/"+job.ID+"/reference.png" {
			t.Errorf("%s: the picture is %q", name, spec.ImageKey)
		}
		if wantTask == "remix" && v["remixed_from_video_id"] != id || wantTask != "remix" && v["remixed_from_video_id"] != nil {
			t.Errorf("%s: remixed_from_video_id is %v", name, v["remixed_from_video_id"])
		}
		if v["seconds"] != wantSeconds || v["model"] != "terrain" {
			t.Errorf("%s: %v", name, v)
		}
	}
}

func TestASourceMustBeCompleted(t *testing.T) {
	s := newStack(t)
	id := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	for param, r := range map[string]reply{
		"video_id": s.postJSON(t, "/v1/videos/"+id+"/remix", `{"prompt":"a"}`),
		"video":    s.postJSON(t, "/v1/videos/edits", map[string]any{"prompt": "a", "video": id}),
	} {
		if p := r.problem(t, 400); p["code"] != "video_not_completed" || p["param"] != param || r.header.Get("X-Should-Retry") != "false" {
			t.Errorf("%v %v", p, r.header)
		}
	}
}

// TestALostPictureIsTheFaultOfTheSource names the field that names the source.
func TestALostPictureIsTheFaultOfTheSource(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	id := s.completed(t, map[string]any{"model": "terrain", "size": "64x64", "input_reference": dataURL(testPNG(t, 64, 64))})["id"].(string)
	if err := s.store.Delete(t.Context(), "inputs/"+id+"/reference.png"); err != nil {
		t.Fatal(err)
	}
	for param, r := range map[string]reply{
		"video_id": s.postJSON(t, "/v1/videos/"+id+"/remix", `{"prompt":"a"}`),
		"video":    s.postJSON(t, "/v1/videos/edits", map[string]any{"prompt": "a", "video": id}),
	} {
		if p := r.problem(t, 400); p["code"] != "source_missing" || p["param"] != param {
			t.Errorf("%v, want param %s", p, param)
		}
	}
}

func TestWhatADerivedVideoMayNotChange(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	id := s.completed(t, map[string]any{"model": "terrain", "size": "64x64"})["id"].(string)
	for _, name := range []string{"size", "width", "fps", "num_frames", "model", "n", "nope", "input_reference", "seconds"} {
		p := s.postJSON(t, "/v1/videos/"+id+"/remix", map[string]any{"prompt": "a", name: "4"}).problem(t, 400)
		if p["param"] != name {
			t.Errorf("remix with %s: %v", name, p)
		}
	}
	for _, seconds := range []any{nil, "0", "-4", "four", 4.5, "121", ""} {
		p := s.postJSON(t, "/v1/videos/extensions", map[string]any{"prompt": "a", "video": id, "seconds": seconds}).problem(t, 400)
		if p["param"] != "seconds" {
			t.Errorf("seconds %v: %v", seconds, p)
		}
	}
	p := s.postForm(t, "/v1/videos/edits", field("prompt", "a"), file("video", "a.mp4", "video/mp4", tinyClip(t))).problem(t, 400)
	if p["param"] != "video" || p["code"] != "unsupported_parameter" {
		t.Errorf("an uploaded video: %v", p)
	}
}

func TestExtensionsAreBounded(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	id := s.completed(t, map[string]any{"model": "terrain", "size": "64x64", "fps": 1, "seconds": "20"})["id"].(string)
	extend := func(id, seconds string) reply {
		return s.postJSON(t, "/v1/videos/extensions", map[string]any{"prompt": "a", "video": id, "seconds": seconds})
	}
	if p := extend(id, "101").problem(t, 400); p["param"] != "seconds" {
		t.Errorf("121 s in all: %v", p)
	}
	for i := range 6 {
		v := extend(id, "4").object(t, 200)
		if want := fmt.Sprint(20 + 4*(i+1)); v["seconds"] != want || v["num_frames"] != json.Number(want) {
			t.Errorf("extension %d: %v", i+1, v)
		}
		id = s.await(t, v["id"].(string), "completed")["id"].(string)
	}
	if p := extend(id, "4").problem(t, 400); p["param"] != "video" {
		t.Errorf("the seventh extension: %v", p)
	}
}

// TestFramesGiveTheLength of an extension of a video whose length is no whole number of seconds.
func TestFramesGiveTheLength(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	id := s.completed(t, map[string]any{"model": "terrain", "size": "64x64", "num_frames": 77})["id"].(string)
	v := s.postJSON(t, "/v1/videos/extensions", map[string]any{"prompt": "a", "video": id, "seconds": 4}).object(t, 200)
	if v["seconds"] != "8.8125" || v["num_frames"] != json.Number("141") {
		t.Errorf("%v", v)
	}
}

// TestTheLongestPromptsFit in one job: that of a remix and that of its source.
func TestTheLongestPromptsFit(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	long := strings.Repeat("🌊", 32000)
	id := s.completed(t, map[string]any{"model": "terrain", "prompt": long})["id"].(string)
	if v := s.postJSON(t, "/v1/videos/"+id+"/remix", map[string]any{"prompt": long}).object(t, 200); v["prompt"] != long {
		t.Error("the prompt came back as another")
	}
	pairs := map[string]string{}
	for i := range 16 {
		pairs[fmt.Sprint(i)] = strings.Repeat("🌊", 512)
	}
	if p := s.postJSON(t, "/v1/videos/"+id+"/remix", map[string]any{"prompt": long, "metadata": pairs}).problem(t, 400); p["code"] != "string_above_max_length" {
		t.Errorf("more than a job holds: %v", p)
	}
}
