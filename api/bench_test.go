package api_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// handlerOnly calls the handler without a socket; Redis is real.
func handlerOnly(b *testing.B, s *stack, method, path, contentType, body string) int {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), method, path, strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	s.server.Handler().ServeHTTP(w, r)
	return w.Code
}

func quiet(in *setup) { in.deps.Logger = slog.New(slog.NewJSONHandler(io.Discard, nil)) }

func benchHandler(b *testing.B, s *stack, method, path, contentType, body string) {
	b.Helper()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if code := handlerOnly(b, s, method, path, contentType, body); code != http.StatusOK {
				b.Fatalf("status %d", code)
			}
		}
	})
}

func BenchmarkPostJSON(b *testing.B) {
	s := newStack(b, quiet)
	benchHandler(b, s, "POST", "/v1/videos", "application/json", `{"prompt":"a lake at dusk","model":"terrain","seconds":"4","size":"832x480"}`)
}

func BenchmarkPostMultipart(b *testing.B) {
	s := newStack(b, quiet)
	benchHandler(b, s, "POST", "/v1/videos", "multipart/form-data; boundary="+boundary, form(field("prompt", "a lake at dusk"), field("model", "terrain"), field("seconds", "4")))
}

func BenchmarkPostWithPicture(b *testing.B) {
	s := newStack(b, quiet)
	body := form(field("prompt", "a"), field("model", "terrain"), field("size", "832x480"), file("input_reference", "a.png", "", testPNG(b, 832, 480)))
	benchHandler(b, s, "POST", "/v1/videos", "multipart/form-data; boundary="+boundary, body)
}

func BenchmarkGetVideo(b *testing.B) {
	s := newStack(b, quiet)
	s.work(b, finisher{})
	id := s.completed(b, map[string]any{"model": "terrain"})["id"].(string)
	benchHandler(b, s, "GET", "/v1/videos/"+id, "", "")
}

func BenchmarkGetQueuedVideo(b *testing.B) {
	s := newStack(b, quiet)
	id := s.create(b, map[string]any{"model": "terrain"})["id"].(string)
	benchHandler(b, s, "GET", "/v1/videos/"+id, "", "")
}

func BenchmarkListPage(b *testing.B) {
	s := newStack(b, quiet)
	for range 100 {
		s.create(b, map[string]any{"model": "terrain"})
	}
	benchHandler(b, s, "GET", "/v1/videos?limit=20", "", "")
}

func BenchmarkDownload(b *testing.B) {
	s := newStack(b, quiet)
	s.work(b, finisher{})
	id := s.completed(b, map[string]any{"model": "terrain"})["id"].(string)
	b.SetBytes(int64(len(tinyClip(b))))
	benchHandler(b, s, "GET", "/v1/videos/"+id+"/content", "", "")
}

func BenchmarkGetOverLoopback(b *testing.B) {
	s := newStack(b, quiet)
	s.work(b, finisher{})
	id := s.completed(b, map[string]any{"model": "terrain"})["id"].(string)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.url+"/v1/videos/"+id, nil)
			if err != nil {
				b.Fatal(err)
			}
			res, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
	})
}
