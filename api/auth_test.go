package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestOddAuthorizationsAreRefused(t *testing.T) {
	s := newStack(t, withKeys)
	good := s.key(t, "acme")
	secret := strings.TrimPrefix(good, "Bearer ")
	for name, headers := range map[string][]string{
		"none": {}, "empty": {""}, "scheme alone": {"Bearer"}, "no token": {"Bearer "}, "token alone": {secret}, "basic": {"Basic " + secret},
		"tab": {"Bearer\t" + secret}, "two spaces": {"Bearer  " + secret}, "comma": {"Bearer " + secret + ","}, "two tokens": {"Bearer " + secret + " " + secret},
		"two headers": {good, good}, "other second": {good, "Basic x"}, "10 KB": {"Bearer " + strings.Repeat("k", 10<<10)}, "wrong": {"Bearer tf_nope"},
		"prefix": {"Bearer " + secret[:len(secret)-1]}, "suffix": {"Bearer " + secret + "a"}, "quotes": {`Bearer "` + secret + `"`}, "not ASCII": {"Bearer schlüssel"},
		"star": {"Bearer *"}, "redis": {"Bearer a:b:c"}, "upper case": {"Bearer " + strings.ToUpper(secret)},
	} {
		var list []string
		for _, h := range headers {
			list = append(list, "Authorization", h)
		}
		for _, route := range [][2]string{{"GET", "/v1/videos"}, {"POST", "/v1/videos"}, {"GET", "/v1/videos/video_01234567890123456789012345"}, {"GET", "/v1/files"}, {"GET", "/v1/models"},
			{"GET", "/v1/service/status"}, {"GET", "/v1/service/metadata"}, {"GET", "/metrics"}, {"GET", "/v1/service/metrics"}, {"GET", "/v1/service/metrics/json"}} {
			r := s.request(t, route[0], route[1], nil, list...)
			p := r.problem(t, 401)
			if p["code"] != "invalid_api_key" || r.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s %s: %v %v", name, route, p, r.header)
			}
			if strings.Contains(string(r.body), secret) {
				t.Errorf("%s: the key is in the answer", name)
			}
		}
	}
	for _, ok := range []string{good, "bearer " + secret, "BEARER " + secret} {
		s.request(t, "GET", "/v1/videos", nil, "Authorization", ok).object(t, 200)
	}
	for _, open := range []string{"/health", "/v1/service/health", "/v1/service/ready", "/docs", "/openapi.yaml", "/openapi.json"} {
		if r := s.request(t, "GET", open, nil); r.status != 200 {
			t.Errorf("%s without a key: %d", open, r.status)
		}
	}
}

func TestMetricsMayBePublic(t *testing.T) {
	s := newStack(t, withKeys, func(in *setup) { in.api.MetricsPublic = true })
	for _, path := range []string{"/metrics", "/v1/service/metrics"} {
		if r := s.request(t, "GET", path, nil); r.status != 200 || !strings.Contains(string(r.body), "telefuser_http_requests_inflight") {
			t.Errorf("%s: %d", path, r.status)
		}
	}
}

// TestTenantsDoNotSeeEachOther wants every answer about another's things to be that about missing ones, to the byte.
func TestTenantsDoNotSeeEachOther(t *testing.T) {
	s := newStack(t, withKeys)
	s.work(t, finisher{})
	owner, other := s.key(t, "acme"), s.key(t, "rival")
	id := s.postJSON(t, "/v1/videos", `{"prompt":"a","model":"terrain"}`, "Authorization", owner).object(t, 200)["id"].(string)
	eventually(t, "it is completed", func() bool {
		return s.request(t, "GET", "/v1/videos/"+id, nil, "Authorization", owner).object(t, 200)["status"] == "completed"
	})
	upload := form(field("purpose", "vision"), file("file", "a.png", "", testPNG(t, 64, 64)))
	fileID := s.request(t, "POST", "/v1/files", strings.NewReader(upload), "Content-Type", "multipart/form-data; boundary="+boundary, "Authorization", owner).object(t, 200)["id"].(string)
	clip := form(field("name", "a"), file("video", "a.mp4", "", tinyClip(t)))
	character := s.request(t, "POST", "/v1/videos/characters", strings.NewReader(clip), "Content-Type", "multipart/form-data; boundary="+boundary, "Authorization", owner).object(t, 200)["id"].(string)
	missing := map[string]string{id: "video_01m8pxxy3kq7m2kve7v7wgdxaz", fileID: "file-01m8pxxy3kq7m2kve7v7wgdxaz", character: character[:5] + "01m8pxxy3kq7m2kve7v7wgdxaz"}
	for _, route := range [][3]string{
		{"GET", "/v1/videos/", id}, {"DELETE", "/v1/videos/", id}, {"GET", "/v1/videos/", id + "/content"}, {"GET", "/v1/videos/", id + "/events"},
		{"POST", "/v1/videos/", id + "/remix"}, {"POST", "/v1/videos/edits", id}, {"POST", "/v1/videos/extensions", id}, {"POST", "/v1/videos", fileID},
		{"GET", "/v1/files/", fileID}, {"DELETE", "/v1/files/", fileID}, {"GET", "/v1/files/", fileID + "/content"}, {"GET", "/v1/videos/characters/", character},
	} {
		theirs, none := s.asRival(t, route, other, nil), s.asRival(t, route, other, missing)
		if theirs.status != none.status || !bytes.Equal(theirs.body, none.body) || theirs.status == 200 {
			t.Errorf("%v: another's is %d %s, a missing one %d %s", route, theirs.status, theirs.body, none.status, none.body)
		}
	}
	for _, path := range []string{"/v1/videos", "/v1/files", "/v1/videos?order=asc&after=" + id} {
		if list := s.request(t, "GET", path, nil, "Authorization", other).object(t, 200); len(list["data"].([]any)) != 0 {
			t.Errorf("%s of the other shows %v", path, list)
		}
	}
	if status := s.request(t, "GET", "/v1/service/status", nil, "Authorization", other).object(t, 200); len(status["current_tasks"].([]any)) != 0 {
		t.Errorf("the status shows another's videos: %v", status)
	}
	s.request(t, "GET", "/v1/videos/"+id, nil, "Authorization", owner).object(t, 200) // all of that did nothing to it
}

// asRival sends a route as another tenant, with the owner's ids or with such as do not exist.
func (s *stack) asRival(t *testing.T, route [3]string, key string, replace map[string]string) reply {
	t.Helper()
	method, path, id := route[0], route[1], route[2]
	for from, to := range replace {
		id = strings.Replace(id, from, to, 1)
	}
	body := map[string]any{"prompt": "a", "model": "terrain"}
	switch {
	case path == "/v1/videos/edits":
		body = map[string]any{"prompt": "a", "video": map[string]any{"id": id}}
	case path == "/v1/videos/extensions":
		body = map[string]any{"prompt": "a", "video": map[string]any{"id": id}, "seconds": "4"}
	case path == "/v1/videos" && method == "POST":
		body["input_reference"] = map[string]any{"file_id": id}
	default:
		path += id
		delete(body, "model")
	}
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return s.request(t, method, path, bytes.NewReader(raw), "Content-Type", "application/json", "Authorization", key)
}

// TestTheKeyAloneIsEnough on later requests: no header of the create is needed again.
func TestTheKeyAloneIsEnough(t *testing.T) {
	s := newStack(t, withKeys)
	key := s.key(t, "acme")
	id := s.postJSON(t, "/v1/videos", `{"prompt":"a"}`, "Authorization", key, "OpenAI-Organization", "o", "X-Custom", "c").object(t, 200)["id"].(string)
	s.request(t, http.MethodGet, "/v1/videos/"+id, nil, "Authorization", key).object(t, 200)
}
