package api_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"telefuser/api"
	"telefuser/internal/devstack"
	"telefuser/jobs"
	"telefuser/storage"
)

func TestWithoutRedisEverythingIs503(t *testing.T) {
	redis, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Stop()
	s := newStack(t, func(in *setup) { in.redis = redis.Addr })
	id := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	redis.Kill()
	var all sync.WaitGroup
	for _, route := range [][3]string{{"GET", "/v1/videos", ""}, {"GET", "/v1/videos/" + id, ""}, {"DELETE", "/v1/videos/" + id, ""}, {"GET", "/v1/videos/" + id + "/content", ""}, {"GET", "/v1/videos/" + id + "/events", ""},
		{"POST", "/v1/videos", `{"prompt":"a"}`}, {"POST", "/v1/videos/" + id + "/remix", `{"prompt":"a"}`}, {"GET", "/v1/files", ""}, {"GET", "/v1/service/status", ""}, {"GET", "/v1/service/metadata", ""}} {
		all.Go(func() { s.unavailable(t, route) })
	}
	all.Wait()
	if h := s.request(t, "GET", "/health", nil).object(t, 200); h["status"] != "healthy" {
		t.Errorf("health: %v", h)
	}
	eventually(t, "it is not ready", func() bool { return s.request(t, "GET", "/v1/service/ready", nil).status == 503 })
	if ready := s.request(t, "GET", "/v1/service/ready", nil).object(t, 503); ready["status"] != "not_ready" || ready["reason"] != "records" {
		t.Errorf("ready: %v", ready)
	}
	if r := s.request(t, "GET", "/metrics", nil); r.status != 200 {
		t.Errorf("metrics: %d", r.status)
	}
	if err := redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is ready again", func() bool { return s.request(t, "GET", "/v1/service/ready", nil).status == 200 })
	s.request(t, "GET", "/v1/videos/"+id, nil).object(t, 200)
}

// unavailable wants a 503 that tells nothing of the inside.
func (s *stack) unavailable(t *testing.T, route [3]string) {
	t.Helper()
	r := s.request(t, route[0], route[1], strings.NewReader(route[2]), "Content-Type", "application/json")
	if r.status != 503 || r.header.Get("Retry-After") == "" || !strings.Contains(string(r.body), `"service_unavailable"`) || !strings.Contains(string(r.body), `"server_error"`) {
		t.Errorf("%v: %d %s %v", route, r.status, r.body, r.header)
	}
	if text := strings.ToLower(string(r.body)); strings.Contains(text, "redis") || strings.Contains(text, "dial") || strings.Contains(text, "127.0.0.1") {
		t.Errorf("%v tells of the inside: %s", route, r.body)
	}
}

// TestDroppedUploadsLeaveNothing cuts connections in the middle of a body.
func TestDroppedUploadsLeaveNothing(t *testing.T) {
	s := newStack(t)
	body := form(field("prompt", "a"), field("model", "terrain"), field("size", "64x64"), file("input_reference", "a.png", "image/png", testPNG(t, 64, 64)))
	address := strings.TrimPrefix(s.url, "http://")
	s.request(t, "GET", "/health", nil)
	before := runtime.NumGoroutine()
	for i := range 100 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		cut := len(body) * i / 100
		_, _ = fmt.Fprintf(conn, "POST /v1/videos HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=%s\r\nContent-Length: %d\r\n\r\n%s", boundary, len(body), body[:cut])
		_ = conn.Close()
	}
	eventually(t, "all requests have ended", func() bool {
		return strings.Contains(string(s.request(t, "GET", "/metrics", nil).body), "telefuser_http_requests_inflight 1\n")
	})
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+4 }) // some belong to pools
	if list := s.request(t, "GET", "/v1/videos", nil).object(t, 200); len(list["data"].([]any)) != 0 {
		t.Errorf("half uploads made videos: %v", list)
	}
	if keys := s.objects(t); len(keys) != 0 {
		t.Errorf("half uploads left objects: %v", keys)
	}
	s.noTempFiles(t)
	s.create(t, map[string]any{"model": "terrain"})
}

// TestUploadsThatCannotBeKeptAre503 and not the client's fault: the folder of unfinished uploads is gone, or its disk is full.
func TestUploadsThatCannotBeKeptAre503(t *testing.T) {
	s := newStack(t, func(in *setup) { in.api.TempDir = filepath.Join(in.api.TempDir, "gone") })
	large := bytes.Repeat([]byte("x"), 300<<10)
	for name, r := range map[string]reply{
		"multipart": s.postForm(t, "/v1/files", field("purpose", "vision"), file("file", "a.bin", "application/octet-stream", large)),
		"JSON":      s.postJSON(t, "/v1/videos", map[string]any{"prompt": "a", "input_reference": dataURL(large)}),
	} {
		if p := r.problem(t, 503); p["code"] != "insufficient_storage" || p["type"] != "server_error" || r.header.Get("Retry-After") == "" {
			t.Errorf("%s: %v %v", name, p, r.header)
		}
	}
	if !strings.Contains(s.logs.String(), "an upload cannot be kept") {
		t.Error("the log does not say why")
	}
}

// TestEndlessBodiesAreCutOff sends more than is allowed without saying how much.
func TestEndlessBodiesAreCutOff(t *testing.T) {
	s := newStack(t)
	for contentType, head := range map[string]string{
		"multipart/form-data; boundary=" + boundary: strings.TrimSuffix(form(field("prompt", "a")), "--\r\n") + "\r\nContent-Disposition: form-data; name=\"input_reference\"; filename=\"a\"\r\n\r\n",
		"application/json":                          `{"prompt":"a","input_reference":"`,
		"application/x-www-form-urlencoded":         "prompt=",
	} {
		endless := io.MultiReader(strings.NewReader(head), &zeros{left: 2 << 30})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/videos", endless)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		res, err := s.client.Do(req)
		if err != nil { // the server closed while the client still wrote, which is as good an answer
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode != 413 {
			t.Errorf("%s: status %d", contentType, res.StatusCode)
		}
	}
	s.noTempFiles(t)
}

// zeros gives text, but not for ever.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = '0'
	}
	z.left -= len(p)
	return len(p), nil
}

// TestStalledUploadsEnd gives a client that falls silent its answer.
func TestStalledUploadsEnd(t *testing.T) {
	s := newStack(t, func(in *setup) { in.api.StallTimeout = 50 * time.Millisecond })
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "POST /v1/videos HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"prompt\"")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode != 408 || !strings.Contains(string(text), "upload_stalled") {
		t.Errorf("%d %s", res.StatusCode, text)
	}
}

// A body that brings a byte now and then is no better than one that brings none, and one that is slow but moves is served.
func TestSlowUploads(t *testing.T) {
	const stall = 300 * time.Millisecond
	s := newStack(t, func(in *setup) { in.api.StallTimeout = stall })
	const picture = 4 << 10
	body := `{"prompt":"slow","metadata":{"k":"` + strings.Repeat("x", 500) + `"}` + strings.Repeat(" ", picture) + "}"
	for name, c := range map[string]struct{ bytes, status int }{"a byte": {1, 408}, "enough": {256, 200}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "POST /v1/videos HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				tick := time.NewTicker(50 * time.Millisecond)
				defer tick.Stop()
				for rest := body; rest != ""; {
					n := min(c.bytes, len(rest))
					if _, err := io.WriteString(conn, rest[:n]); err != nil {
						return
					}
					rest = rest[n:]
					select {
					case <-tick.C:
					case <-stop:
						return
					}
				}
			}()
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if text, _ := io.ReadAll(res.Body); res.StatusCode != c.status {
				t.Errorf("%d %s", res.StatusCode, text)
			}
		})
	}
}

// brokenStore does its work until it is told to fail or to panic.
type brokenStore struct {
	api.Store
	mu  sync.Mutex
	err error
}

func (b *brokenStore) set(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *brokenStore) get() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

var errPanics = errors.New("canary: /srv/secret/path")

func (b *brokenStore) Put(ctx context.Context, key string, r io.Reader, o storage.PutOptions) (storage.Object, error) {
	if err := b.get(); errors.Is(err, errPanics) {
		panic(err)
	} else if err != nil {
		return storage.Object{}, err
	}
	return b.Store.Put(ctx, key, r, o)
}

func (b *brokenStore) Check(ctx context.Context) error {
	if err := b.get(); err != nil {
		return err
	}
	return b.Store.Check(ctx)
}

func (b *brokenStore) Stat(ctx context.Context, key string) (storage.Object, error) {
	if err := b.get(); err != nil {
		return storage.Object{}, err
	}
	return b.Store.Stat(ctx, key)
}

func TestBrokenStoreAndPanics(t *testing.T) {
	broken := &brokenStore{}
	s := newStack(t, func(in *setup) { in.deps.Store = broken })
	broken.Store = s.store
	s.work(t, finisher{})
	id := s.completed(t, map[string]any{"model": "terrain"})["id"].(string)
	with := map[string]any{"prompt": "a", "model": "terrain", "size": "64x64", "input_reference": dataURL(testPNG(t, 64, 64))}
	for err, want := range map[error]struct {
		status int
		code   string
	}{
		fmt.Errorf("canary bucket: %w", storage.ErrUnavailable): {503, "service_unavailable"}, fmt.Errorf("canary disk: %w", storage.ErrFull): {503, "insufficient_storage"},
		fmt.Errorf("canary: %w", storage.ErrDenied): {503, "service_unavailable"}, errors.New("canary: /srv/x"): {500, "internal_error"}, errPanics: {500, "internal_error"},
	} {
		broken.set(err)
		r := s.postJSON(t, "/v1/videos", with)
		if p := r.problem(t, want.status); p["code"] != want.code || strings.Contains(string(r.body), "canary") || p["type"] != "server_error" {
			t.Errorf("%v: %s", err, r.body)
		}
		if errors.Is(err, errPanics) {
			continue
		}
		r = s.request(t, "GET", "/v1/videos/"+id+"/content", nil)
		if p := r.problem(t, want.status); p["code"] != want.code || strings.Contains(string(r.body), "canary") {
			t.Errorf("content, %v: %s", err, r.body)
		}
	}
	broken.set(storage.ErrUnavailable)
	eventually(t, "the store makes it not ready", func() bool {
		r := s.request(t, "GET", "/v1/service/ready", nil)
		return r.status == 503 && r.object(t, 503)["reason"] == "storage"
	})
	broken.set(nil)
	list := s.request(t, "GET", "/v1/videos", nil).object(t, 200)
	if n := len(list["data"].([]any)); n != 1 {
		t.Errorf("failed creates made %d videos", n-1)
	}
	for _, key := range s.objects(t) {
		if strings.HasPrefix(key, "inputs/") {
			t.Errorf("a failed create left %s", key)
		}
	}
	s.postJSON(t, "/v1/videos", with).object(t, 200)
	if !strings.Contains(s.logs.String(), "brokenStore") {
		t.Error("the panic's stack is not in the log")
	}
}

// lostRecords are jobs that take a create and lose the answer.
type lostRecords struct {
	api.Jobs
	once sync.Once
}

func (l *lostRecords) Create(ctx context.Context, r jobs.CreateRequest) (jobs.Job, bool, error) {
	job, replayed, err := l.Jobs.Create(ctx, r)
	l.once.Do(func() { job, replayed, err = jobs.Job{}, false, fmt.Errorf("lost: %w", jobs.ErrUnavailable) })
	return job, replayed, err
}

// TestALostAnswerMakesOneVideo retries as the SDKs do, and wants the picture of the accepted job to be there still.
func TestALostAnswerMakesOneVideo(t *testing.T) {
	s := newStack(t, func(in *setup) { in.around = func(all api.Jobs) api.Jobs { return &lostRecords{Jobs: all} } })
	body := map[string]any{"prompt": "a", "model": "terrain", "size": "64x64", "input_reference": dataURL(testPNG(t, 64, 64))}
	s.postJSON(t, "/v1/videos", body, "X-Stainless-Retry-Count", "0").problem(t, 503)
	v := s.postJSON(t, "/v1/videos", body, "X-Stainless-Retry-Count", "1").object(t, 200)
	list := s.request(t, "GET", "/v1/videos", nil).object(t, 200)["data"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["id"] != v["id"] {
		t.Errorf("the list is %v", list)
	}
	if keys := s.objects(t); len(keys) != 1 || keys[0] != "inputs/"+v["id"].(string)+"/reference.png" {
		t.Errorf("the objects are %v", keys)
	}
}
