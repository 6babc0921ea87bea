package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"telefuser/jobs"
)

// canaries are texts that were sent and must not turn up where they do not belong.
type canaries map[string]string

func (c canaries) plant(what string) string {
	c[what] = "canary-" + strings.ReplaceAll(what, " ", "-") + "-5e1d"
	return c[what]
}

// in names the canaries that a text has.
func (c canaries) in(text string) []string {
	var found []string
	for what, secret := range c {
		if strings.Contains(text, secret) {
			found = append(found, what)
		}
	}
	return found
}

// TestSecretsStayWhereTheyBelong sends secrets through every door, to be taken and to be refused, and looks for them in the log, in the metrics, in refusals, in the
// names of all keys of Redis and in all that asynq keeps there. The records, which have them, are not looked at, but for keys and signing secrets.
func TestSecretsStayWhereTheyBelong(t *testing.T) {
	var l live
	s, stage := newOutboundStack(t, withKeys, withSessions(t, &l), func(in *setup) { in.jobs.SecretKeys = [][]byte{bytes.Repeat([]byte{1}, jobs.SecretKeyBytes)} })
	c := canaries{}
	key := s.key(t, "acme")
	c["API key"] = strings.TrimPrefix(key, "Bearer ")
	refusals := s.plantEverywhere(t, c, key, stage.URL("/"))
	s.work(t, finisher{})
	eventually(t, "everything is made", func() bool {
		list := s.request(t, http.MethodGet, "/v1/videos?limit=100", nil, "Authorization", key).object(t, 200)["data"].([]any)
		for _, v := range list {
			if v.(map[string]any)["status"] != "completed" {
				return false
			}
		}
		return len(list) >= 3
	})
	places := map[string]string{"the log": s.logs.String(), "refusals": refusals.String(), "the names of keys": strings.Join(redisDo(t, "KEYS", "*"), "\n"), "asynq": redisValues(t, "asynq*")}
	for _, path := range []string{"/metrics", "/v1/service/metrics/json", "/v1/service/status", "/v1/models"} {
		places[path] = string(s.request(t, http.MethodGet, path, nil, "Authorization", key).body)
	}
	for place, text := range places {
		if text == "" {
			t.Errorf("%s: there is nothing to look at", place)
		}
		if found := c.in(text); len(found) > 0 {
			t.Errorf("%s: has %q", place, found)
		}
	}
	records := redisValues(t, s.prefix+":*")
	if !strings.Contains(records, c["prompt"]) {
		t.Error("no record has its prompt: this test looks at the wrong place")
	}
	for _, what := range []string{"API key", "wrong key", "webhook secret"} {
		if strings.Contains(records, c[what]) {
			t.Errorf("the records have the %s", what)
		}
	}
}

// plantEverywhere sends the secrets and answers the bodies of all refusals.
func (s *stack) plantEverywhere(t *testing.T, c canaries, key, host string) *strings.Builder {
	t.Helper()
	var refusals strings.Builder
	send := func(status int, method, path, body string, header ...string) reply {
		t.Helper()
		if len(header) == 0 || header[0] != "Authorization" {
			header = append(header, "Authorization", key)
		}
		if !strings.Contains(strings.Join(header, " "), "Content-Type") {
			header = append(header, "Content-Type", "application/json")
		}
		r := s.request(t, method, path, strings.NewReader(body), header...)
		if r.status != status {
			t.Errorf("%s %s: %d, want %d: %s", method, path, r.status, status, r.body)
		}
		if r.status >= 400 {
			refusals.Write(r.body)
		}
		return r
	}
	send(200, "POST", "/v1/videos", fmt.Sprintf(`{"prompt":%q,"model":"terrain","metadata":{"a":%q}}`, c.plant("prompt"), c.plant("metadata")), "Idempotency-Key", c.plant("idempotency key"))
	send(200, "POST", "/v1/videos", form(field("prompt", c.plant("form prompt")), field("model", "terrain"), field("size", "64x64"), file("input_reference", c.plant("filename")+".png", "", testPNG(t, 64, 64))),
		"Content-Type", "multipart/form-data; boundary="+boundary)
	send(200, "POST", "/v1/videos", "prompt="+c.plant("urlencoded prompt")+"&model=terrain", "Content-Type", "application/x-www-form-urlencoded")
	send(200, "POST", "/v1/files", form(field("purpose", "vision"), file("file", c.plant("file name"), "", []byte(c.plant("file")))), "Content-Type", "multipart/form-data; boundary="+boundary)
	hook := send(200, "POST", "/v1/webhook_endpoints", fmt.Sprintf(`{"name":%q,"url":%q,"event_types":["video.completed"]}`, c.plant("webhook name"), host+c.plant("webhook path")+"?token="+c.plant("webhook token")))
	c["webhook secret"], _ = hook.object(t, 200)["signing_secret"].(string)
	send(429, "POST", sessionsPath, fmt.Sprintf(`{"identity":%q,"prompt":%q}`, c.plant("identity"), c.plant("session prompt")))
	for _, body := range []string{
		fmt.Sprintf(`{"prompt":%q,"size":%q}`, c.plant("refused prompt"), c.plant("size")),
		fmt.Sprintf(`{"prompt":"a","seed":%q}`, c.plant("seed")),
		fmt.Sprintf(`{"prompt":"a","model":"terrain","camera":[{"at":0,"keys":%q}]}`, c.plant("camera")),
		fmt.Sprintf(`{"prompt":"a","metadata":{%q:1}}`, c.plant("metadata key")),
		fmt.Sprintf(`{"prompt":"a","model":"terrain","input_reference":{"image_url":%q}}`, "https://"+c.plant("user")+":x@example.com/?token="+c.plant("URL token")),
		fmt.Sprintf(`{"prompt":"a","model":"terrain","reference_url":%q}`, "http://127.0.0.1/"+c.plant("reference URL")),
		fmt.Sprintf(`{"prompt":"a","model":"terrain","input_reference":%q}`, "data:text/plain;base64,"+c.plant("data URL")),
		fmt.Sprintf(`{"prompt":"a","model":"terrain","input_reference":{"file_id":%q}}`, c.plant("file id")),
		fmt.Sprintf(`{"prompt":%q`, c.plant("broken JSON")), fmt.Sprintf(`[%q]`, c.plant("JSON list")),
		fmt.Sprintf(`{"prompt":"a","priority":%q}`, c.plant("priority")),
	} {
		send(400, "POST", "/v1/videos", body)
	}
	send(400, "POST", "/v1/webhook_endpoints", fmt.Sprintf(`{"name":"a","url":%q,"event_types":["video.completed"]}`, "http://127.0.0.1/"+c.plant("refused webhook")))
	send(404, "GET", "/v1/videos/"+c.plant("video id"), "")
	send(404, "GET", "/v1/"+c.plant("path"), "")
	send(400, "GET", "/v1/videos?after="+c.plant("cursor"), "")
	send(400, "POST", "/v1/videos", form(field("prompt", "a"), file("input_reference", c.plant("refused filename"), "", []byte(c.plant("refused file")))), "Content-Type", "multipart/form-data; boundary="+boundary)
	send(415, "POST", "/v1/videos", c.plant("text body"), "Content-Type", "text/plain; a="+c.plant("content type"))
	send(401, "GET", "/v1/videos", "", "Authorization", "Bearer tf_"+c.plant("wrong key"))
	send(401, "GET", "/v1/videos", "", "Authorization", "Basic "+c.plant("basic"))
	send(200, "GET", "/v1/models", "", "X-Request-Id", "odd "+c.plant("odd request id"), "User-Agent", c.plant("user agent"), "Cookie", c.plant("cookie"), "Referer", c.plant("referer"))
	return &refusals
}

// redisValues is everything that the keys of a pattern hold.
func redisValues(t *testing.T, pattern string) string {
	t.Helper()
	var out strings.Builder
	for _, key := range redisDo(t, "KEYS", pattern) {
		read := map[string][]string{"string": {"GET", key}, "hash": {"HGETALL", key}, "list": {"LRANGE", key, "0", "-1"}, "set": {"SMEMBERS", key}, "zset": {"ZRANGE", key, "0", "-1"}, "stream": {"XRANGE", key, "-", "+"}}
		if command := read[redisDo(t, "TYPE", key)[0]]; command != nil {
			out.WriteString(strings.Join(redisDo(t, command...), "\n"))
		}
	}
	return out.String()
}
