package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"telefuser/api"
)

func TestServiceGroup(t *testing.T) {
	s := newStack(t)
	if h := s.request(t, "GET", "/v1/service/health", nil).object(t, 200); h["status"] != "healthy" || h["ready"] != true || h["pipeline_ready"] != false || h["version"] != "1.0.0" {
		t.Errorf("health without a worker: %v", h)
	}
	hold := make(chan struct{})
	s.work(t, finisher{hold: hold})
	if h := s.request(t, "GET", "/health", nil).object(t, 200); h["pipeline_ready"] != true {
		t.Errorf("health with a worker: %v", h)
	}
	status := func() map[string]any { return s.request(t, "GET", "/v1/service/status", nil).object(t, 200) }
	if st := status(); st["service_status"] != "idle" || st["processing_count"] != json.Number("0") || st["max_concurrent_processing"] != json.Number("1") || st["execution_mode"] != "serial_single_pipeline" {
		t.Errorf("idle: %v", st)
	}
	id := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	s.await(t, id, "in_progress")
	s.create(t, map[string]any{"model": "terrain"})
	if st := status(); st["service_status"] != "busy" || st["current_task"] != id || st["pending_tasks"] != json.Number("1") || st["active_tasks"] != json.Number("2") || st["total_tasks"] != json.Number("2") {
		t.Errorf("busy: %v", st)
	}
	pool := status()["pool"].([]any)[0].(map[string]any)
	if pool["id"] != "test-worker" || pool["device_ids"].([]any)[0] != "cpu" {
		t.Errorf("the pool is %v", pool)
	}
	m := s.request(t, "GET", "/v1/service/metrics/json", nil).object(t, 200)
	if m["tasks"].(map[string]any)["created"] != json.Number("2") || m["queue"].(map[string]any)["pending"] != json.Number("1") || m["queue"].(map[string]any)["processing"] != json.Number("1") {
		t.Errorf("metrics: %v", m)
	}
	close(hold)
}

func TestMetadataIsTheContract(t *testing.T) {
	s := newStack(t)
	c := terrain(t)
	for _, query := range []string{"", "?model=terrain", "?model=sora-2"} {
		m := s.request(t, "GET", "/v1/service/metadata"+query, nil).object(t, 200)
		if m["pipeline_name"] != "terrain" || m["contract_version"] != c.Version || m["task"] != "t2v" {
			t.Errorf("%q: %v", query, m)
		}
		tasks := m["task_contracts"].(map[string]any)
		if len(tasks) != len(c.Tasks) {
			t.Errorf("tasks: %v", tasks)
		}
		i2v := tasks["i2v"].(map[string]any)
		if !slices.Contains(i2v["required_inputs"].([]any), any("input_reference")) {
			t.Errorf("i2v needs %v", i2v["required_inputs"])
		}
		seed := i2v["parameters"].(map[string]any)["seed"].(map[string]any)
		if seed["type"] != "integer" || seed["default"] != nil || seed["exposed"] != true {
			t.Errorf("seed is %v", seed)
		}
	}
}

// TestLabelsAreBounded sends what a stranger may choose and wants none of it in the metrics.
func TestLabelsAreBounded(t *testing.T) {
	s := newStack(t)
	for _, path := range []string{"/v1/canary1", "/v1/videos/canary2", "/canary3/../x", "/v1/videos?after=canary4", "/v1/models/canary5", "/v1/files/canary6/content"} {
		s.request(t, "GET", path, nil)
	}
	s.request(t, "CANARY7", "/v1/videos", nil)
	s.create(t, map[string]any{"model": "terrain", "prompt": "canary8", "metadata": map[string]string{"canary9": "canary10"}})
	text := string(s.request(t, "GET", "/metrics", nil).body)
	if strings.Contains(strings.ToLower(text), "canary") || strings.Contains(text, "video_0") {
		t.Error("a label holds what a client chose")
	}
	for _, want := range []string{`telefuser_http_requests_total{method="GET",route="/v1/videos/:video_id",status="404"} 1`, `telefuser_tasks_created_total{pipeline="terrain",task="t2v"} 1`,
		`telefuser_http_requests_total{method="GET",route="unmatched",status="404"} 2`, "telefuser_http_request_duration_seconds_bucket", "telefuser_service_uptime_seconds"} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// TestLogsTieARequestToItsJob and say nothing of what the client said.
func TestLogsTieARequestToItsJob(t *testing.T) {
	s := newStack(t, withKeys)
	key := s.key(t, "acme")
	body := `{"prompt":"canary-prompt","model":"terrain","metadata":{"canary-key":"canary-value"},"input_reference":"data:image/png;base64,canaryImage="}`
	s.postJSON(t, "/v1/videos?canary-query=1", body, "Authorization", key, "Idempotency-Key", "canary-idempotency").problem(t, 400)
	for _, malformed := range []string{"--" + boundary + "\r\ncanary-header\r\n\r\na", form(field("prompt", "a")) + "canary-epilogue", "--" + boundary + "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--" + boundary + "canary-line\r\n"} {
		s.request(t, "POST", "/v1/videos", strings.NewReader(malformed), "Authorization", key, "Content-Type", "multipart/form-data; boundary="+boundary)
	}
	r := s.postJSON(t, "/v1/videos?canary-query=1", `{"prompt":"canary-prompt","model":"terrain"}`, "Authorization", key, "X-Request-ID", "my-request.1")
	id := r.object(t, 200)["id"].(string)
	if r.header.Get("X-Request-Id") != "my-request.1" {
		t.Errorf("the request id came back as %q", r.header.Get("X-Request-Id"))
	}
	logs := s.logs.String()
	if strings.Contains(logs, "canary") || strings.Contains(logs, strings.TrimPrefix(key, "Bearer ")) {
		t.Errorf("the log holds what it must not: %s", logs)
	}
	found := false
	for line := range strings.Lines(logs) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("a line is no JSON: %s", line)
		}
		if entry["job_id"] == id && entry["request_id"] == "my-request.1" && entry["route"] == "/v1/videos" && entry["status"] == 200.0 && entry["key"] != nil {
			found = true
		}
	}
	if !found {
		t.Errorf("no line ties them: %s", logs)
	}
	if job, err := s.jobs.Get(t.Context(), "acme", id); err != nil || job.Spec.RequestID != "my-request.1" {
		t.Errorf("the job has the request id %q, %v", job.Spec.RequestID, err)
	}
}

// TestProbesAreQuiet: what asks every few seconds fills no log.
func TestProbesAreQuiet(t *testing.T) {
	s := newStack(t)
	for _, path := range []string{"/health", "/v1/service/health", "/v1/service/ready"} {
		if r := s.request(t, "GET", path, nil); r.status != 200 {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	if logs := s.logs.String(); strings.Contains(logs, `"msg":"request"`) {
		t.Errorf("probes are logged: %s", logs)
	}
	s.request(t, "GET", "/v1/models", nil)
	if logs := s.logs.String(); !strings.Contains(logs, `"route":"/v1/models"`) {
		t.Errorf("requests are not logged: %s", logs)
	}
}

func TestRequestIDs(t *testing.T) {
	s := newStack(t)
	for _, good := range []string{"a", "A.b_c-9", strings.Repeat("x", 64)} {
		if got := s.request(t, "GET", "/health", nil, "X-Request-ID", good).header.Get("X-Request-Id"); got != good {
			t.Errorf("%q came back as %q", good, got)
		}
	}
	for _, bad := range []string{"", "a b", strings.Repeat("x", 65), strings.Repeat("x", 8<<10), "ü", `"`, "<x>"} {
		if got := s.request(t, "GET", "/health", nil, "X-Request-ID", bad).header.Get("X-Request-Id"); got == bad || !strings.HasPrefix(got, "req_") {
			t.Errorf("%q came back as %q", bad, got)
		}
	}
	r := s.request(t, "GET", "/v1/nope", nil)
	if r.header.Get("X-Request-Id") == "" || r.header.Get("Openai-Version") == "" || r.header.Get("Openai-Processing-Ms") == "" || r.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers of an error: %v", r.header)
	}
}

func TestCORSIsOffUnlessListed(t *testing.T) {
	preflight := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type,x-stainless-retry-count"}
	off := newStack(t)
	for _, r := range []reply{off.request(t, "OPTIONS", "/v1/videos", nil, append(preflight, "Origin", "https://a.example")...), off.request(t, "GET", "/v1/videos", nil, "Origin", "https://a.example")} {
		for name := range r.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("CORS is on: %s", name)
			}
		}
	}
	on := newStack(t, withKeys, func(in *setup) { in.api.CORSOrigins = []string{"https://a.example", "http://localhost:3000"} })
	for _, origin := range []string{"https://a.example", "http://localhost:3000"} {
		r := on.request(t, "OPTIONS", "/v1/videos", nil, append(preflight, "Origin", origin)...)
		allowed := strings.ToLower(r.header.Get("Access-Control-Allow-Headers"))
		if r.status != http.StatusNoContent || r.header.Get("Access-Control-Allow-Origin") != origin || r.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("preflight of %s: %d %v", origin, r.status, r.header)
		}
		for _, name := range []string{"authorization", "openai-organization", "openai-project", "x-stainless-lang", "x-stainless-package-version", "x-stainless-os", "x-stainless-arch",
			"x-stainless-runtime", "x-stainless-runtime-version", "x-stainless-retry-count", "x-stainless-timeout", "x-stainless-read-timeout", "x-stainless-async",
			"x-stainless-poll-helper", "x-stainless-custom-poll-interval", "x-stainless-poll-interval", "idempotency-key", "user-agent", "content-type"} {
			if !strings.Contains(allowed, name) {
				t.Errorf("the preflight does not allow %s", name)
			}
		}
		if r := on.request(t, "GET", "/v1/videos", nil, "Origin", origin); r.status != 401 || r.header.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(r.header.Get("Access-Control-Expose-Headers"), "X-Request-Id") {
			t.Errorf("an error for %s: %v", origin, r.header)
		}
	}
	for _, origin := range []string{"https://evil.example", "null", "https://a.example.evil", "HTTPS://A.EXAMPLE", "http://a.example", "*"} {
		if r := on.request(t, "OPTIONS", "/v1/videos", nil, append(preflight, "Origin", origin)...); r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s is allowed", origin)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, c := range map[string]api.Config{
		"no auth": {}, "odd auth": {Auth: "none"}, "half TLS": {Auth: api.AuthOff, TLSCertFile: "a"}, "star origin": {Auth: api.AuthOff, CORSOrigins: []string{"*"}},
		"null origin": {Auth: api.AuthOff, CORSOrigins: []string{"null"}}, "origin with a path": {Auth: api.AuthOff, CORSOrigins: []string{"https://a.example/"}},
		"long redirects": {Auth: api.AuthOff, RedirectTTL: 1 << 50}, "no body memory": {Auth: api.AuthOff, BodyMemoryBytesMax: 1},
	} {
		if c.Validate() == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := (api.Config{Auth: api.AuthOff}).Validate(); err != nil {
		t.Error(err)
	}
}
