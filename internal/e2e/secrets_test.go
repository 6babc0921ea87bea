package e2e_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// TestLogsKeepSecrets sends secrets through every door and reads all logs at the level that is the default.
func TestLogsKeepSecrets(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{apis: 2, apiArgs: []string{"--auth", "keys"}, noWorkers: true})
	password := s.plant("canary-redis-password")
	s.configure(t.Context(), "requirepass", password)
	s.env = append(s.env, "TELEFUSER_REDIS_URL=redis://:"+password+"@"+s.redis.Addr+"/0")
	for i := range s.apis {
		s.apis[i].kill()
		s.startAPI(i)
		s.awaitReady(i)
	}
	worker := s.startWorker("worker0")
	s.client.key = s.newKey("acme")

	prompt := s.plant("canary-prompt")
	seen := s.client.make(t, small("a "+prompt+" in the hills").with(fields{"metadata": map[string]string{"note": s.plant("canary-metadata")}}))
	s.sendForm(t, s.plant("canary-filename")+".png", s.plant("canary-form-prompt"))
	s.badlyFormed(t)
	header := http.Header{"Idempotency-Key": {s.plant("canary-idempotency-key")}}
	again, err := s.client.post(t.Context(), small("with a key"), header)
	if err != nil {
		t.Fatal(err)
	}
	s.client.await(t, again.ID)
	body := fmt.Sprintf(`{"prompt":%q}`, s.plant("canary-remix"))
	if _, err := s.client.call(t.Context(), http.MethodPost, "/v1/videos/"+seen.ID+"/remix", jsonBody(), strings.NewReader(body), nil); err != nil {
		t.Error(err)
	}
	if _, err := s.client.call(t.Context(), http.MethodGet, "/v1/videos?after="+s.plant("canary-query"), nil, nil, nil); err == nil {
		t.Log("an odd cursor is accepted")
	}
	wrong := &client{base: s.client.base, key: s.plant("sk-canary-wrong-key"), http: s.client.http}
	if _, err := wrong.get(t.Context(), seen.ID); statusOf(err) != http.StatusUnauthorized {
		t.Errorf("a wrong key: %v", err)
	}
	if _, err := s.client.call(t.Context(), http.MethodGet, "/v1/"+s.plant("canary-path"), nil, nil, nil); statusOf(err) != http.StatusNotFound {
		t.Errorf("an unknown path: %v", err)
	}
	checkTrace(t, s, worker, seen.ID)
	if out := s.telefuser("config"); strings.Contains(out, password) || strings.Contains(out, s.s3.SecretKey) {
		t.Error("config shows a secret")
	}
}

func (s *stack) sendForm(t *testing.T, filename, prompt string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, f := range [][2]string{{"prompt", prompt}, {"model", "terrain"}, {"size", "64x64"}, {"num_frames", "5"}} {
		if err := form.WriteField(f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	part, err := form.CreateFormFile("input_reference", filename)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(picture(t, 64, 64)); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	var v video
	h := http.Header{"Content-Type": {form.FormDataContentType()}}
	if _, err := s.client.call(t.Context(), http.MethodPost, "/v1/videos", h, &body, &v); err != nil {
		t.Fatal(err)
	}
	s.client.await(t, v.ID)
}

// badlyFormed is refused requests, whose causes are logged.
func (s *stack) badlyFormed(t *testing.T) {
	t.Helper()
	for _, f := range []fields{
		small(s.plant("canary-refused-prompt")).with(fields{"size": "wide"}),
		small("x").with(fields{"input_reference": map[string]string{"image_url": "https://example.com/?token=" + s.plant("canary-url-token")}}),
		small("x").with(fields{"input_reference": map[string]string{"image_url": "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(s.plant("canary-not-a-picture")))}}),
		small("x").with(fields{"seed": s.plant("canary-seed")}),
	} {
		if _, err := s.client.post(t.Context(), f, nil); statusOf(err)/100 != 4 {
			t.Errorf("a bad request: %v", err)
		}
	}
}

// checkTrace finds the line that ties request, job and attempt together, in the worker's log, and the request's own line in an API's.
func checkTrace(t *testing.T, s *stack, worker *process, id string) {
	t.Helper()
	request := ""
	for _, l := range logLines(t, worker) {
		if l.text("job_id") == id && l.text("attempt") == "1" && l.text("request_id") != "" {
			request = l.text("request_id")
		}
	}
	if request == "" {
		t.Errorf("no line of the worker has request, job and attempt of %s", id)
		return
	}
	for _, p := range s.apis {
		for _, l := range logLines(t, p) {
			if l.text("request_id") == request {
				return
			}
		}
	}
	t.Errorf("no API logged the request %s", request)
}
