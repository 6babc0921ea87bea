package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"telefuser/jobs"
)

func TestAVideosLife(t *testing.T) {
	s := newStack(t)
	hold := make(chan struct{})
	inference, memory, queue := int64(1500_000_000), int64(64<<20), int64(2_000_000)
	first := s.create(t, map[string]any{"model": "terrain", "metadata": map[string]string{"a": "b"}, "seed": 0})
	second := s.create(t, map[string]any{"model": "terrain", "num_frames": 77})
	third := s.create(t, nil)
	for _, v := range []map[string]any{first, second, third} {
		if v["status"] != "queued" || v["progress"] != json.Number("0") || v["completed_at"] != nil || v["error"] != nil || v["remixed_from_video_id"] != nil || v["object"] != "video" {
			t.Errorf("a new video is %v", v)
		}
	}
	if first["model"] != "terrain" || first["size"] != "832x480" || first["seconds"] != "4" || first["seed"] != json.Number("0") || first["fps"] != json.Number("16") || first["num_frames"] != json.Number("64") {
		t.Errorf("the pipeline's own defaults are %v", first)
	}
	if second["seconds"] != "4.8125" || second["num_frames"] != json.Number("77") || second["seed"] == nil {
		t.Errorf("77 frames are %v", second)
	}
	if third["model"] != "sora-2" || third["size"] != "720x1280" || third["seconds"] != "4" {
		t.Errorf("OpenAI's defaults are %v", third)
	}
	if first["queue_position"] != json.Number("1") || third["queue_position"] != json.Number("3") {
		t.Errorf("queue positions %v and %v", first["queue_position"], third["queue_position"])
	}
	s.work(t, finisher{hold: hold, facts: jobs.Facts{InferenceNS: &inference, PeakMemoryBytes: &memory, QueueNS: &queue, StagesNS: map[string]int64{"decode": 5_000_000}}})
	running := s.await(t, first["id"].(string), "in_progress")
	if running["queue_position"] != nil || running["progress"] == json.Number("100") {
		t.Errorf("a running video is %v", running)
	}
	for _, id := range []string{second["id"].(string), third["id"].(string)} { // one worker runs one video
		if v := s.request(t, "GET", "/v1/videos/"+id, nil).object(t, 200); v["status"] != "queued" || v["progress"] != json.Number("0") {
			t.Errorf("a waiting video is %v", v)
		}
	}
	r := s.request(t, "GET", "/v1/videos/"+first["id"].(string), nil)
	if r.header.Get("Openai-Poll-After-Ms") != "1000" || r.header.Get("Server-Timing") != "" {
		t.Errorf("headers of a running video: %v", r.header)
	}
	close(hold)
	done := s.await(t, first["id"].(string), "completed")
	if done["progress"] != json.Number("100") || done["completed_at"] == nil || done["expires_at"] == nil || done["inference_time_s"] != json.Number("1.5") || done["peak_memory_mb"] != json.Number("64") {
		t.Errorf("a completed video is %v", done)
	}
	if pairs, _ := done["metadata"].(map[string]any); pairs["a"] != "b" {
		t.Errorf("metadata is %v", done["metadata"])
	}
	r = s.request(t, "GET", "/v1/videos/"+first["id"].(string), nil)
	if r.header.Get("Openai-Poll-After-Ms") != "" || r.header.Get("Server-Timing") != "queue;dur=2.000, denoise;dur=1500.000, stage_decode;dur=5.000" {
		t.Errorf("headers of a completed video: %v", r.header)
	}
}

func TestUnknownFactsAreAbsent(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	v := s.completed(t, map[string]any{"model": "terrain"})
	for _, name := range []string{"inference_time_s", "peak_memory_mb", "metadata", "queue_position", "weights"} {
		if _, there := v[name]; there {
			t.Errorf("%s is there: %v", name, v[name])
		}
	}
}

// TestWeightsFromASeedAreSaid wherever the video object stands, and to the job that goes on from it.
func TestWeightsFromASeedAreSaid(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{facts: jobs.Facts{Weights: "random:7"}})
	v := s.completed(t, map[string]any{"model": "terrain", "size": "64x64"})
	id := v["id"].(string)
	page, _ := s.request(t, "GET", "/v1/videos", nil).object(t, 200)["data"].([]any)
	if len(page) != 1 {
		t.Fatalf("a page of %d", len(page))
	}
	listed, _ := page[0].(map[string]any)
	for name, object := range map[string]map[string]any{"alone": v, "in a list": listed} {
		if object["weights"] != "random:7" {
			t.Errorf("%s: weights are %v", name, object["weights"])
		}
	}
	longer := s.postJSON(t, "/v1/videos/extensions", map[string]any{"prompt": "on", "seconds": "4", "video": map[string]string{"id": id}}).object(t, 200)
	job, err := s.jobs.Get(t.Context(), "local", longer["id"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if job.Spec.Source == nil || job.Spec.Source.Weights != "random:7" {
		t.Errorf("an extension goes on from %+v", job.Spec.Source)
	}
}

// TestAFailedVideoIsASuccessfulAnswer because a poller would try an error again.
func TestAFailedVideoIsASuccessfulAnswer(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{fail: &jobs.Failure{Code: jobs.CodeOutOfMemory, Message: "The device does not have enough memory for the job."}})
	v := s.create(t, map[string]any{"model": "terrain"})
	id, _ := v["id"].(string)
	v = s.await(t, id, "failed")
	if e, _ := v["error"].(map[string]any); e["code"] != "gpu_out_of_memory" || e["message"] == "" {
		t.Errorf("the failure is %v", v["error"])
	}
	p := s.request(t, "GET", "/v1/videos/"+id+"/content", nil).problem(t, 404)
	if p["code"] != "video_failed" {
		t.Errorf("content of a failed video: %v", p)
	}
}

func TestDeleteInEveryState(t *testing.T) {
	s := newStack(t)
	hold := make(chan struct{})
	queued := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	s.gone(t, queued)
	s.work(t, finisher{hold: hold})
	running := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	s.await(t, running, "in_progress")
	next := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	s.gone(t, running)
	s.await(t, next, "in_progress") // the worker is free again
	close(hold)
	done := s.await(t, next, "completed")["id"].(string)
	s.gone(t, done)
	for _, key := range s.objects(t) {
		if strings.HasSuffix(key, "manifest.json") {
			t.Errorf("a manifest of a deleted video is left: %s", key)
		}
	}
}

// gone deletes a video and wants it to be gone for ever.
func (s *stack) gone(t *testing.T, id string) {
	t.Helper()
	if v := s.request(t, http.MethodDelete, "/v1/videos/"+id, nil).object(t, 200); v["id"] != id || v["object"] != "video.deleted" || v["deleted"] != true {
		t.Errorf("the answer to DELETE is %v", v)
	}
	for _, path := range []string{"", "/content", "/events"} {
		if p := s.request(t, http.MethodGet, "/v1/videos/"+id+path, nil).problem(t, 404); p["code"] != "not_found" {
			t.Errorf("GET %s after DELETE: %v", path, p)
		}
	}
	s.request(t, http.MethodDelete, "/v1/videos/"+id, nil).problem(t, 404)
}

func TestPromptsComeBackByteForByte(t *testing.T) {
	s := newStack(t)
	for _, prompt := range []string{"🌊 and 猫", "مرحبا بالعالم", "\ufeffmark", " spaces ", "line\nbreak\ttab", `quo"te \ back`, "e\u0301 combining", "<b>&amp;</b>", "\U0010ffff", "null", "{\"a\":1}", "[1]"} {
		id := s.postForm(t, "/v1/videos", field("model", "terrain"), field("prompt", prompt)).object(t, 200)["id"].(string)
		for _, made := range []map[string]any{s.create(t, map[string]any{"model": "terrain", "prompt": prompt}), s.request(t, "GET", "/v1/videos/"+id, nil).object(t, 200)} {
			if made["prompt"] != prompt {
				t.Errorf("prompt %q came back as %q", prompt, made["prompt"])
			}
		}
		first := s.request(t, "GET", "/v1/videos?limit=1", nil).object(t, 200)["data"].([]any)[0].(map[string]any)
		if first["prompt"] != prompt {
			t.Errorf("the list has %q for %q", first["prompt"], prompt)
		}
	}
	long := strings.Repeat("🌊", 32000)
	if v := s.postForm(t, "/v1/videos", field("prompt", long), field("model", "terrain")).object(t, 200); v["prompt"] != long {
		t.Error("a prompt of 32000 wide characters came back as another")
	}
}

func TestEveryModelNameAndItsDefaults(t *testing.T) {
	s := newStack(t, func(in *setup) {
		in.api.ModelAliases = map[string]string{"my-alias": "terrain", "sora-2-pro": "terrain"}
	})
	for model, size := range map[string]string{"sora-2": "720x1280", "sora-2-pro": "720x1280", "sora-2-2025-10-06": "720x1280", "sora-2-pro-2025-10-06": "720x1280",
		"sora-2-2025-12-08": "720x1280", "terrain": "832x480", "my-alias": "832x480"} {
		v := s.create(t, map[string]any{"model": model})
		if v["model"] != model || v["size"] != size || v["seconds"] != "4" {
			t.Errorf("%s: %v", model, v)
		}
		if m := s.request(t, "GET", "/v1/models/"+model, nil).object(t, 200); m["id"] != model || m["object"] != "model" {
			t.Errorf("/v1/models/%s: %v", model, m)
		}
	}
	list := s.request(t, "GET", "/v1/models", nil).object(t, 200)["data"].([]any)
	if first := list[0].(map[string]any); len(list) < 7 || first["owned_by"] == "" {
		t.Errorf("the models are %v", list)
	}
	for _, size := range []string{"720x1280", "1280x720", "1024x1792", "1792x1024", "1080x1920", "1920x1080"} {
		if v := s.create(t, map[string]any{"size": size, "seconds": "8"}); v["size"] != size || v["seconds"] != "8" {
			t.Errorf("%s: %v", size, v)
		}
	}
}

// TestOldVideosOutliveTheirAlias reads a video after its model's name is gone.
func TestOldVideosOutliveTheirAlias(t *testing.T) {
	prefix := fmt.Sprintf("alias%d", prefixes.Add(1))
	old := newStack(t, func(in *setup) {
		in.jobs.Prefix, in.api.ModelAliases = prefix, map[string]string{"gone-soon": "terrain"}
	})
	id := old.create(t, map[string]any{"model": "gone-soon"})["id"].(string)
	s := newStack(t, func(in *setup) { in.jobs.Prefix = prefix })
	if v := s.request(t, "GET", "/v1/videos/"+id, nil).object(t, 200); v["model"] != "gone-soon" {
		t.Errorf("the old video is %v", v)
	}
	s.postJSON(t, "/v1/videos", map[string]any{"model": "gone-soon", "prompt": "a"}).problem(t, 404)
}

func TestSeedsAreEchoed(t *testing.T) {
	s := newStack(t)
	for _, seed := range []any{0, "0", -5, 9007199254740991, "9223372036854775807"} {
		if v := s.create(t, map[string]any{"model": "terrain", "seed": seed}); fmt.Sprint(v["seed"]) != fmt.Sprint(seed) {
			t.Errorf("seed %v came back as %v", seed, v["seed"])
		}
	}
	a, b := s.create(t, nil)["seed"], s.create(t, nil)["seed"]
	if a == nil || a == b {
		t.Errorf("random seeds are %v and %v", a, b)
	}
	if v := s.postForm(t, "/v1/videos", field("prompt", "a"), field("seed", "81"), field("speed", "3.5")).object(t, 200); v["seed"] != json.Number("81") {
		t.Errorf("text for a seed: %v", v)
	}
}
