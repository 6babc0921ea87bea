package api_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"telefuser/internal/devstack"
	"telefuser/jobs"
	"telefuser/streaming"
)

// limited makes an API key of a tenant with limits of its own.
func (s *stack) limited(t testing.TB, tenant string, limits map[string]int64) string {
	t.Helper()
	secret, info, err := s.jobs.CreateKey(t.Context(), tenant, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.jobs.SetQuota(t.Context(), info.ID, limits); err != nil {
		t.Fatal(err)
	}
	return "Bearer " + secret
}

// refusedFor checks a 429 for a quota.
func refusedFor(t testing.TB, r reply, what string) {
	t.Helper()
	p := r.problem(t, 429)
	wait, err := strconv.Atoi(r.header.Get("Retry-After"))
	if p["code"] != "quota_exceeded" || p["type"] != "rate_limit_error" || err != nil || wait < 1 || !strings.Contains(p["message"].(string), what) {
		t.Errorf("%v, retry after %q", p, r.header.Get("Retry-After"))
	}
}

// TestQuotas reaches each limit of a key; nothing that is refused leaves a trace, reading is never limited, and other keys are not touched.
func TestQuotas(t *testing.T) {
	s := newStack(t, withKeys)
	free := s.key(t, "free")
	const body = `{"prompt":"a","model":"terrain"}`
	queued := s.limited(t, "alice", map[string]int64{"queued": 2})
	var id string
	for range 2 {
		id, _ = s.postJSON(t, "/v1/videos", body, "Authorization", queued).object(t, 200)["id"].(string)
	}
	refusedFor(t, s.postJSON(t, "/v1/videos", body, "Authorization", queued), "wait")
	for range 50 {
		s.request(t, "GET", "/v1/videos/"+id, nil, "Authorization", queued).object(t, 200)
	}
	if list := s.request(t, "GET", "/v1/videos", nil, "Authorization", queued).object(t, 200)["data"].([]any); len(list) != 2 {
		t.Errorf("%d videos of 2", len(list))
	}
	work := s.limited(t, "bob", map[string]int64{"megapixel-seconds-per-hour": 3}) // 832 x 480 x 77 / 16
	s.postJSON(t, "/v1/videos", body, "Authorization", work).object(t, 200)
	refusedFor(t, s.postJSON(t, "/v1/videos", body, "Authorization", work), "hour")
	r := s.postJSON(t, "/v1/videos", `{"prompt":"a","model":"terrain","seconds":20}`, "Authorization", work)
	refusedFor(t, r, "hour")
	if r.header.Get("X-Should-Retry") != "false" {
		t.Error("a video above every hour may be tried again")
	}
	rate := s.limited(t, "carol", map[string]int64{"creates-per-minute": 1})
	if r := s.postJSON(t, "/v1/videos", body, "Authorization", rate); r.status != 200 || r.header.Get("X-Ratelimit-Limit-Requests") != "1" {
		t.Errorf("%d %v", r.status, r.header)
	}
	if p := s.postJSON(t, "/v1/videos", body, "Authorization", rate).problem(t, 429); p["code"] != "rate_limit_exceeded" {
		t.Errorf("%v", p)
	}
	s.postJSON(t, "/v1/videos", body, "Authorization", free).object(t, 200)
}

// TestQuotaOfStoredBytes counts files until they are deleted.
func TestQuotaOfStoredBytes(t *testing.T) {
	s := newStack(t, withKeys)
	key := s.limited(t, "alice", map[string]int64{"stored-bytes": 1000})
	upload := func() reply {
		t.Helper()
		body := form(field("purpose", "user_data"), file("file", "a.bin", "", []byte(strings.Repeat("x", 600))))
		return s.request(t, "POST", "/v1/files", strings.NewReader(body), "Content-Type", "multipart/form-data; boundary="+boundary, "Authorization", key)
	}
	id := upload().object(t, 200)["id"].(string)
	upload().object(t, 200)
	refusedFor(t, upload(), "room")
	refusedFor(t, s.postJSON(t, "/v1/videos", `{"prompt":"a"}`, "Authorization", key), "room")
	if n := len(s.objects(t)); n != 2 {
		t.Errorf("%d objects of 2 files", n)
	}
	s.request(t, "DELETE", "/v1/files/"+id, nil, "Authorization", key).object(t, 200)
	upload().object(t, 200)
}

// TestQuotaOfSessions takes a key's own limit in place of the server's.
func TestQuotaOfSessions(t *testing.T) {
	var l live
	s := newStack(t, withKeys, withSessions(t, &l, queued, func(c *streaming.Config) { c.SessionsPerTenantMax = 4 }))
	l.work(t, 1, &liveEngine{})
	key := s.limited(t, "alice", map[string]int64{"sessions": 1})
	s.session(t, nil, "Authorization", key).object(t, 200)
	r := s.session(t, nil, "Authorization", key)
	if p := r.problem(t, 429); p["code"] != "too_many_sessions" || r.header.Get("Retry-After") == "" {
		t.Errorf("%v %v", p, r.header)
	}
	s.session(t, nil, "Authorization", s.key(t, "bob")).object(t, 202)
}

// TestPriority is echoed, ordered by, and refused where it is made up.
func TestPriority(t *testing.T) {
	s := newStack(t)
	s.create(t, map[string]any{"model": "terrain"})
	low := s.create(t, map[string]any{"model": "terrain", "priority": "low"})
	high := s.create(t, map[string]any{"model": "terrain", "priority": "high"})
	if low["priority"] != "low" || high["priority"] != "high" || low["queue_position"] == high["queue_position"] {
		t.Errorf("%v, %v", low, high)
	}
	if now := s.request(t, "GET", "/v1/videos/"+high["id"].(string), nil).object(t, 200); now["priority"] != "high" || now["queue_position"].(interface{ String() string }).String() != "1" {
		t.Errorf("%v", now)
	}
	for _, bad := range []string{`"urgent"`, `1`, `["high"]`, `"HIGH"`} {
		if p := s.postJSON(t, "/v1/videos", `{"prompt":"a","priority":`+bad+`}`).problem(t, 400); p["param"] != "priority" {
			t.Errorf("%s: %v", bad, p)
		}
	}
	if plain := s.create(t, map[string]any{"priority": "normal"}); plain["priority"] != nil {
		t.Errorf("%v", plain)
	}
}

// TestANearlyFullRedisIs503 refuses whatever would take memory, and goes on with the rest.
func TestANearlyFullRedisIs503(t *testing.T) {
	server, err := devstack.StartRedis(context.WithoutCancel(t.Context()), t.TempDir(), devstack.RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	s := newStack(t, func(in *setup) { in.redis = server.Addr })
	id := s.create(t, nil)["id"].(string)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { _ = rdb.Close() })
	for name, share := range map[string]int64{"above the ratio": 110, "above the limit": 50} {
		used := memory(t, rdb)
		if err := rdb.ConfigSet(t.Context(), "maxmemory", strconv.FormatInt(used*share/100, 10)).Err(); err != nil {
			t.Fatal(err)
		}
		refused := func() bool {
			r := s.postJSON(t, "/v1/videos", `{"prompt":"a"}`)
			if r.status == http.StatusOK {
				return false
			}
			if p := r.problem(t, 503); p["code"] != "queue_full" || r.header.Get("Retry-After") == "" {
				t.Fatalf("%s: %v %v", name, p, r.header)
			}
			return true
		}
		eventually(t, name+": creates are refused", refused)
		if p := s.postForm(t, "/v1/files", field("purpose", "user_data"), file("file", "a.bin", "", []byte("x"))).problem(t, 503); p["code"] != "queue_full" {
			t.Errorf("%s: a file: %v", name, p)
		}
		s.request(t, "GET", "/v1/videos/"+id, nil).object(t, 200)
		s.request(t, "GET", "/v1/videos", nil).object(t, 200)
	}
	s.request(t, "DELETE", "/v1/videos/"+id, nil).object(t, 200)
	if err := rdb.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "creates are taken again", func() bool { return s.postJSON(t, "/v1/videos", `{"prompt":"a"}`).status == 200 })
}

// memory is what Redis uses, in bytes.
func memory(t testing.TB, rdb jobs.Client) int64 {
	t.Helper()
	info, err := rdb.Info(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(line, "used_memory:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no used_memory")
	return 0
}
