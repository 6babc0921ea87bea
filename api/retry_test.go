package api_test

import (
	"sync"
	"testing"

	"telefuser/jobs"
)

func TestIdempotencyKeys(t *testing.T) {
	s := newStack(t, withKeys)
	acme, rival := s.key(t, "acme"), s.key(t, "rival")
	post := func(key, body string, more ...string) reply {
		return s.postJSON(t, "/v1/videos", body, append([]string{"Authorization", key, "Idempotency-Key", "k1"}, more...)...)
	}
	first := post(acme, `{"prompt":"a","seconds":4}`).object(t, 200)
	for _, same := range []string{`{"prompt":"a","seconds":4}`, `{"seconds":"04","prompt":"a"}`, `{"prompt":"a","model":"sora-2"}`, `{"prompt":"a","size":"720x1280"}`} {
		if again := post(acme, same).object(t, 200); again["id"] != first["id"] || again["seed"] != first["seed"] {
			t.Errorf("%s: replayed as %v", same, again)
		}
	}
	for _, other := range []string{`{"prompt":"b","seconds":4}`, `{"prompt":"a","seconds":8}`, `{"prompt":"a","seed":1}`, `{"prompt":"a","metadata":{"a":"b"}}`} {
		r := post(acme, other)
		if p := r.problem(t, 409); p["code"] != "idempotency_mismatch" || r.header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %v %v", other, p, r.header)
		}
	}
	if elsewhere := post(rival, `{"prompt":"z"}`).object(t, 200); elsewhere["id"] == first["id"] {
		t.Error("two tenants share a key")
	}
	if list := s.request(t, "GET", "/v1/videos", nil, "Authorization", acme).object(t, 200); len(list["data"].([]any)) != 1 {
		t.Errorf("there are %d videos", len(list["data"].([]any)))
	}
}

// TestParallelRetriesMakeOneVideo sends the same request ten times at once.
func TestParallelRetriesMakeOneVideo(t *testing.T) {
	s := newStack(t)
	picture := testPNG(t, 64, 64)
	ids := make([]string, 10)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			body := map[string]any{"prompt": "a", "model": "terrain", "size": "64x64", "input_reference": map[string]string{"image_url": dataURL(picture)}}
			ids[i], _ = s.postJSON(t, "/v1/videos", body, "Idempotency-Key", "same").object(t, 200)["id"].(string)
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("the ids are %v", ids)
		}
	}
	if keys := s.objects(t); len(keys) != 1 || keys[0] != "inputs/"+ids[0]+"/reference.png" {
		t.Errorf("the objects are %v", keys)
	}
}

// TestRetriesWithoutAKey are told apart from equal requests by the SDK's own count.
func TestRetriesWithoutAKey(t *testing.T) {
	s := newStack(t)
	picture := testPNG(t, 64, 64)
	parts := []part{field("prompt", "a"), field("model", "terrain"), field("size", "64x64"), file("input_reference", "a.png", "image/png", picture)}
	first := s.postForm(t, "/v1/videos", parts...).object(t, 200)
	retry := func(count string, body map[string]any) map[string]any {
		return s.postJSON(t, "/v1/videos", body, "X-Stainless-Retry-Count", count).object(t, 200)
	}
	same := map[string]any{"prompt": "a", "model": "terrain", "size": "64x64", "input_reference": dataURL(picture)}
	if again := retry("1", same); again["id"] != first["id"] {
		t.Error("the retry, in another encoding, made another video")
	}
	if again := retry("2", same); again["id"] != first["id"] {
		t.Error("the second retry made another video")
	}
	for _, count := range []string{"0", "", "x", "-1"} {
		if other := retry(count, same); other["id"] == first["id"] {
			t.Errorf("count %q: an equal request is no retry", count)
		}
	}
	if other := retry("1", map[string]any{"prompt": "b", "model": "terrain", "size": "64x64", "input_reference": dataURL(picture)}); other["id"] == first["id"] {
		t.Error("another prompt was taken for a retry")
	}
	if other := retry("1", map[string]any{"prompt": "a", "model": "terrain", "size": "64x64", "input_reference": dataURL(testImage(t, 64, 64, "mjpeg", "jpg"))}); other["id"] == first["id"] {
		t.Error("another picture was taken for a retry")
	}
}

// TestRateLimit counts creates and never polls.
func TestRateLimit(t *testing.T) {
	s := newStack(t, func(in *setup) { in.jobs = jobs.Config{Prefix: in.jobs.Prefix, CreatesPerMinute: 3} })
	var id string
	for range 3 {
		r := s.postJSON(t, "/v1/videos", `{"prompt":"a","model":"terrain"}`)
		id, _ = r.object(t, 200)["id"].(string)
		if r.header.Get("X-Ratelimit-Limit-Requests") != "3" || r.header.Get("X-Ratelimit-Remaining-Requests") == "" || r.header.Get("X-Ratelimit-Reset-Requests") == "" {
			t.Errorf("headers: %v", r.header)
		}
	}
	r := s.postJSON(t, "/v1/videos", `{"prompt":"a","model":"terrain"}`)
	if p := r.problem(t, 429); p["code"] != "rate_limit_exceeded" || p["type"] != "rate_limit_error" {
		t.Errorf("%v", p)
	}
	if wait := r.header.Get("Retry-After"); wait == "" || len(wait) > 2 || r.header.Get("X-Ratelimit-Remaining-Requests") != "0" {
		t.Errorf("headers: %v", r.header)
	}
	for range 200 {
		s.request(t, "GET", "/v1/videos/"+id, nil).object(t, 200)
	}
}

func TestAFullQueueIs429(t *testing.T) {
	s := newStack(t, func(in *setup) { in.jobs.QueuedMax = 2 })
	s.create(t, nil)
	s.create(t, nil)
	r := s.postJSON(t, "/v1/videos", `{"prompt":"a"}`)
	if p := r.problem(t, 429); p["code"] != "queue_full" || r.header.Get("Retry-After") == "" {
		t.Errorf("%v %v", p, r.header)
	}
}
