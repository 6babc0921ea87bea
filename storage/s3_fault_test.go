package storage_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"telefuser/internal/devstack"
	"telefuser/storage"
)

// proxy stands between the driver and the gateway; meddle may answer a request itself and says so.
func proxy(t *testing.T, gw *devstack.S3Server, meddle func(w http.ResponseWriter, r *http.Request) bool) func(*storage.S3Config) {
	t.Helper()
	target, err := url.Parse(gw.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		// The signature covers the host that the driver meant.
		r.Out.Host = r.In.Host
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !meddle(w, r) {
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return func(c *storage.S3Config) { c.Endpoint = server.URL }
}

func wantIs(t *testing.T, err error, wants ...error) {
	t.Helper()
	for _, want := range wants {
		if !errors.Is(err, want) {
			t.Errorf("got error %v, want %v", err, want)
		}
	}
}

func putString(ctx context.Context, s storage.Store, key, content string) (storage.Object, error) {
	// Without Seek, as a request body: a retry must still be able to send it again.
	return s.Put(ctx, key, io.LimitReader(strings.NewReader(content), 1<<30), storage.PutOptions{SizeBytes: -1})
}

func TestS3DriverTellsRefusedCredentials(t *testing.T) {
	gw := startGateway(t)
	good := openS3(t, gw)
	for name, change := range map[string]func(*storage.S3Config){
		"secret": func(c *storage.S3Config) { c.SecretKey = "wrong" },
		"access": func(c *storage.S3Config) { c.AccessKey = "nobody" },
	} {
		s := openS3(t, gw, change)
		_, err := putString(t.Context(), s, "k", "x")
		wantIs(t, err, storage.ErrDenied, storage.ErrUnavailable)
		_, _, err = s.Open(t.Context(), "k", 0, -1)
		wantIs(t, err, storage.ErrDenied)
		wantIs(t, s.Check(t.Context()), storage.ErrDenied)
		if strings.Contains(s.Check(t.Context()).Error(), gw.SecretKey) {
			t.Errorf("%s: the secret is in the error", name)
		}
	}
	if err := good.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestS3DriverIsNotReadyWithoutBucketOrService(t *testing.T) {
	gw := startGateway(t)
	s := openS3(t, gw, func(c *storage.S3Config) { c.Bucket = "nosuch" })
	wantIs(t, s.Check(t.Context()), storage.ErrUnavailable)
	_, _, err := s.Open(t.Context(), "k", 0, -1)
	wantIs(t, err, storage.ErrUnavailable)
	if errors.Is(err, storage.ErrNotFound) {
		t.Error("a missing bucket looks like a missing object")
	}
	s = openS3(t, gw)
	gw.Stop()
	wantIs(t, s.Check(t.Context()), storage.ErrUnavailable)
	if err := gw.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("after the service came back: %v", err)
	}
}

func TestS3DriverRetriesA503(t *testing.T) {
	gw := startGateway(t)
	var calls atomic.Int32
	s := openS3(t, gw, proxy(t, gw, func(w http.ResponseWriter, r *http.Request) bool {
		if calls.Add(1)%2 == 0 {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `<Error><Code>SlowDown</Code></Error>`)
		return true
	}))
	content := strings.Repeat("streamed", 100_000)
	obj, err := putString(t.Context(), s, "k", content)
	if err != nil || obj.SizeBytes != int64(len(content)) {
		t.Fatalf("put: %+v, %v", obj, err)
	}
	r, _, err := s.Open(t.Context(), "k", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != content {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
}

func TestS3DriverGivesUpAfterItsAttempts(t *testing.T) {
	gw := startGateway(t)
	var calls atomic.Int32
	s := openS3(t, gw, func(c *storage.S3Config) { c.AttemptsMax = 2 }, proxy(t, gw, func(w http.ResponseWriter, _ *http.Request) bool {
		calls.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
		return true
	}))
	_, err := s.Stat(t.Context(), "k")
	wantIs(t, err, storage.ErrUnavailable)
	if calls.Load() != 2 {
		t.Errorf("%d calls, want 2", calls.Load())
	}
}

func TestS3DriverKnowsItsOwnPutWhenTheAnswerWasLost(t *testing.T) {
	gw := startGateway(t)
	var lost atomic.Int32
	target, _ := url.Parse(gw.Endpoint)
	s := openS3(t, gw, proxy(t, gw, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || lost.Add(1) > 1 {
			return false
		}
		// The gateway does the work; the driver sees the connection break.
		rec := httptest.NewRecorder()
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.Host = p.In.Host }}).ServeHTTP(rec, r)
		if rec.Code != http.StatusOK {
			t.Errorf("the first put: %d", rec.Code)
		}
		panic(http.ErrAbortHandler)
	}))
	if _, err := putString(t.Context(), s, "k", "mine"); err != nil {
		t.Errorf("put whose first answer was lost: %v", err)
	}
	if lost.Load() < 2 {
		t.Fatal("there was no retry: the test proves nothing")
	}
	_, err := putString(t.Context(), s, "k", "mine")
	wantIs(t, err, storage.ErrExists)
}

func TestS3DriverDoesNotBelieveAnOK(t *testing.T) {
	gw := startGateway(t)
	// A service that says yes and keeps nothing, for both ways of sending.
	s := openS3(t, gw, proxy(t, gw, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || r.URL.Query().Has("partNumber") {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"0"`)
		return true
	}))
	_, err := putString(t.Context(), s, "k", "x")
	wantIs(t, err, storage.ErrUnavailable)

	// A multipart upload that is completed by a 200 with an error inside.
	s = openS3(t, gw, proxy(t, gw, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !r.URL.Query().Has("uploadId") {
			return false
		}
		_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>InternalError</Code><Message>sorry</Message></Error>`)
		return true
	}), func(c *storage.S3Config) { c.AttemptsMax = 2 })
	_, err = s.Put(t.Context(), "big", bytes.NewReader(make([]byte, 17<<20)), storage.PutOptions{SizeBytes: -1})
	wantIs(t, err, storage.ErrUnavailable)
	_, err = s.Stat(t.Context(), "big")
	wantIs(t, err, storage.ErrNotFound)
}

func TestS3DriverRemovesWhatArrivedWrong(t *testing.T) {
	gw := startGateway(t)
	s := openS3(t, gw, proxy(t, gw, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodHead {
			rec := httptest.NewRecorder()
			target, _ := url.Parse(gw.Endpoint)
			(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.Host = p.In.Host }}).ServeHTTP(rec, r)
			for k, v := range rec.Header() {
				w.Header()[k] = v
			}
			if rec.Code == http.StatusOK {
				w.Header().Set("X-Amz-Checksum-Crc32", "AAAAAA==")
			}
			w.WriteHeader(rec.Code)
			return true
		}
		return false
	}))
	_, err := putString(t.Context(), s, "k", "x")
	wantIs(t, err, storage.ErrCorrupt)
	_, _, err = s.Open(t.Context(), "k", 0, -1)
	wantIs(t, err, storage.ErrNotFound)
}

func TestS3DriverEndsABlackHoleByTheDeadline(t *testing.T) {
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	s, err := storage.NewS3(t.Context(), storage.S3Config{
		Endpoint: "http://" + hole.Addr().String(), Bucket: bucket, AccessKey: "a", SecretKey: "s", PathStyle: true, SpoolDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(context.Context) error{
		"put":   func(ctx context.Context) error { _, err := putString(ctx, s, "k", "x"); return err },
		"stat":  func(ctx context.Context) error { _, err := s.Stat(ctx, "k"); return err },
		"check": s.Check,
		"large": func(ctx context.Context) error {
			_, err := s.Put(ctx, "k", bytes.NewReader(make([]byte, 20<<20)), storage.PutOptions{SizeBytes: -1})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			start := time.Now()
			wantIs(t, call(ctx), storage.ErrUnavailable, context.DeadlineExceeded)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestS3DriverEndsASilentServerByItsOwnTimeouts(t *testing.T) {
	gw := startGateway(t)
	release := make(chan struct{})
	defer close(release)
	quiet := func(c *storage.S3Config) {
		c.ResponseHeaderTimeout, c.StallTimeout, c.AttemptsMax = 100*time.Millisecond, 200*time.Millisecond, 1
	}
	s := openS3(t, gw, quiet, proxy(t, gw, func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		<-release
		return true
	}))
	_, err := s.Stat(t.Context(), "k")
	wantIs(t, err, storage.ErrUnavailable)

	// A body that stops in the middle.
	s = openS3(t, gw, quiet, proxy(t, gw, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "the first bytes")
		_ = http.NewResponseController(w).Flush()
		<-release
		return true
	}))
	r, _, err := s.Open(t.Context(), "k", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	wantIs(t, err, storage.ErrUnavailable)
	if string(got) != "the first bytes" {
		t.Errorf("read %q", got)
	}
}

func TestS3DriverEndsAStalledUpload(t *testing.T) {
	// A server that takes connections and never reads: the kernel's buffers fill up and the writer stands.
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	s, err := storage.NewS3(t.Context(), storage.S3Config{
		Endpoint: "http://" + hole.Addr().String(), Bucket: bucket, AccessKey: "a", SecretKey: "s", PathStyle: true, SpoolDir: t.TempDir(),
		AttemptsMax: 1, StallTimeout: 200 * time.Millisecond, ResponseHeaderTimeout: 10 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), "k", bytes.NewReader(make([]byte, 15<<20)), storage.PutOptions{SizeBytes: -1})
	wantIs(t, err, storage.ErrUnavailable)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error of the socket came through: %v", err)
	}
}

func TestS3DriverWorksWithOtherVendors(t *testing.T) {
	gw := startGateway(t)
	refuseChecksums := proxy(t, gw, func(w http.ResponseWriter, r *http.Request) bool {
		for name := range r.Header {
			if strings.HasPrefix(name, "X-Amz-Checksum-") || name == "X-Amz-Sdk-Checksum-Algorithm" || name == "X-Amz-Trailer" {
				w.WriteHeader(http.StatusNotImplemented)
				return true
			}
		}
		return false
	})
	demandChecksums := proxy(t, gw, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && r.Header.Get("X-Amz-Checksum-Crc32") == "" {
			w.WriteHeader(http.StatusBadRequest)
			return true
		}
		return false
	})
	rewriteEncoding := proxy(t, gw, func(_ http.ResponseWriter, r *http.Request) bool {
		r.Header.Set("Accept-Encoding", "gzip, deflate")
		return false
	})
	required := func(c *storage.S3Config) { c.Checksums, c.AttemptsMax = storage.ChecksumsWhenRequired, 1 }
	for _, tt := range []struct {
		name   string
		change []func(*storage.S3Config)
		ok     bool
	}{
		{"no checksum headers known, when_required", []func(*storage.S3Config){refuseChecksums, required}, true},
		{"no checksum headers known, when_supported", []func(*storage.S3Config){refuseChecksums}, false},
		{"checksum demanded, when_supported", []func(*storage.S3Config){demandChecksums}, true},
		{"checksum demanded, when_required", []func(*storage.S3Config){demandChecksums, required}, false},
		{"Accept-Encoding rewritten on the way", []func(*storage.S3Config){rewriteEncoding}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openS3(t, gw, append(tt.change, func(c *storage.S3Config) { c.AttemptsMax = 1 })...)
			_, err := putString(t.Context(), s, "k", "content")
			_, errLarge := s.Put(t.Context(), "large", bytes.NewReader(make([]byte, 17<<20)), storage.PutOptions{SizeBytes: -1})
			if (err == nil) != tt.ok || (errLarge == nil) != tt.ok {
				t.Fatalf("put: %v, in parts: %v", err, errLarge)
			}
			if !tt.ok {
				return
			}
			r, _, err := s.Open(t.Context(), "k", 0, -1)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if got, err := io.ReadAll(r); string(got) != "content" || err != nil {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
}
