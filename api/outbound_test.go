package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"telefuser/api"
	"telefuser/internal/outbound"
	"telefuser/internal/outbound/outboundtest"
	"telefuser/webhooks"
)

// inAPIWords is the translation of the program.
func inAPIWords(err error) error {
	for from, to := range map[error]error{outbound.ErrURL: api.ErrAddress, webhooks.ErrAddress: api.ErrAddress, outbound.ErrUnreachable: api.ErrUnreachable,
		webhooks.ErrUnreachable: api.ErrUnreachable, outbound.ErrStatus: api.ErrUnreachable, outbound.ErrType: api.ErrUnreachable, outbound.ErrTooLarge: api.ErrImageTooLarge} {
		if errors.Is(err, from) {
			return fmt.Errorf("%w: %w", to, err)
		}
	}
	return err
}

type testDesk struct{ *webhooks.Desk }

func (d testDesk) CheckURL(ctx context.Context, url string) error {
	return inAPIWords(d.Desk.CheckURL(ctx, url))
}

func (d testDesk) Test(ctx context.Context, tenant, id, kind string) (int, error) {
	status, err := d.Desk.Test(ctx, tenant, id, kind)
	return status, inAPIWords(err)
}

type testFetch struct{ io.ReadCloser }

func (f testFetch) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		return n, io.EOF
	}
	return n, inAPIWords(err)
}

// newOutboundStack is a stack whose way out leads into a small internet.
func newOutboundStack(t *testing.T, change ...func(*setup)) (*stack, *outboundtest.Stage) {
	t.Helper()
	stage := outboundtest.NewStage(t, "../internal/outbound/testdata/ssrf.txt")
	stage.Config.Timeout, stage.Config.StallTimeout = 3*time.Second, time.Second
	client, err := outbound.New(stage.Config)
	if err != nil {
		t.Fatal(err)
	}
	var s *stack
	desk := func() *webhooks.Desk { return webhooks.NewDesk(webhooks.Config{AllowHTTP: true}, s.jobs, client) }
	s = newStack(t, append([]func(*setup){func(in *setup) {
		in.deps.Webhooks = lateDesk{desk}
		in.deps.FetchImage = func(ctx context.Context, url string, bytesMax int64) (io.ReadCloser, error) {
			body, err := client.Fetch(ctx, url, outbound.Web(), bytesMax)
			if err != nil {
				return nil, inAPIWords(err)
			}
			return testFetch{body}, nil
		}
	}}, change...)...)
	return s, stage
}

// lateDesk waits for the records that the stack makes.
type lateDesk struct{ desk func() *webhooks.Desk }

func (l lateDesk) CheckURL(ctx context.Context, url string) error {
	return testDesk{l.desk()}.CheckURL(ctx, url)
}

func (l lateDesk) Test(ctx context.Context, tenant, id, kind string) (int, error) {
	return testDesk{l.desk()}.Test(ctx, tenant, id, kind)
}

// TestNoVectorReachesTheCanaryByPictures asks for a picture at every address that must not be reached, in each of its fields.
func TestNoVectorReachesTheCanaryByPictures(t *testing.T) {
	s, stage := newOutboundStack(t)
	i := 0
	stage.Each(t, func(t *testing.T, way, url string, flip func()) {
		flip()
		i++
		body, param := map[string]any{"prompt": "a", "reference_url": url}, "reference_url"
		if i%2 == 0 {
			body, param = map[string]any{"prompt": "a", "input_reference": map[string]any{"image_url": url}}, "input_reference"
		}
		if p := s.postJSON(t, "/v1/videos", body).problem(t, 400); p["param"] != param {
			t.Errorf("%s, %s: %v", url, way, p)
		}
	})
	if stage.Hits() == 0 {
		t.Error("no redirect was ever asked for: the test proves nothing")
	}
	if page, _, err := s.jobs.List(t.Context(), api.LocalTenant, listAll()); err != nil || len(page) != 0 {
		t.Errorf("%d jobs, %v", len(page), err)
	}
	s.noTempFiles(t)
}

// TestPicturesByURL fetches good ones and bad ones.
func TestPicturesByURL(t *testing.T) {
	s, stage := newOutboundStack(t)
	picture := testPNG(t, 720, 1280)
	files := map[string][]byte{
		"/good": picture, "/html": []byte("<!DOCTYPE html><html></html>"), "/empty": {}, "/gif": []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"), "/svg": []byte("<svg xmlns='x'/>"),
		"/m3u8": []byte("#EXTM3U\n"), "/cut": picture[:len(picture)/2], "/magic": picture[:8], "/other-size": testPNG(t, 64, 64),
		"/bomb": bombPNG(30000, 30000), "/huge": append(append([]byte{}, picture...), make([]byte, 21<<20)...),
	}
	stage.Server = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png") // whatever it is
		_, _ = w.Write(files[r.URL.Path])
	})
	for _, field := range []string{"reference_url", "input_reference"} {
		body := func(path string) map[string]any {
			if field == "reference_url" {
				return map[string]any{"prompt": "a", field: stage.URL(path)}
			}
			return map[string]any{"prompt": "a", field: map[string]any{"image_url": stage.URL(path)}}
		}
		for path := range files {
			r := s.postJSON(t, "/v1/videos", body(path))
			if path == "/good" {
				r.object(t, 200)
				continue
			}
			if p := r.problem(t, 400); p["param"] != field || strings.Contains(fmt.Sprint(p["message"]), "test:") {
				t.Errorf("%s by %s: %v", path, field, p)
			}
		}
	}
	if strings.Contains(s.logs.String(), "allowed.test") {
		t.Error("an address is in the log")
	}
	s.noTempFiles(t)
}

// TestARetryWithAURLIsTheSameRequest changes the picture in between.
func TestARetryWithAURLIsTheSameRequest(t *testing.T) {
	s, stage := newOutboundStack(t)
	pictures := [][]byte{testPNG(t, 720, 1280), testPNG(t, 720, 1280)}
	stage.Server = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, bytes.NewReader(pictures[min(1, int(stage.Hits())-1)]))
	})
	body := map[string]any{"prompt": "a", "reference_url": stage.URL("/p")}
	first := s.postJSON(t, "/v1/videos", body, "Idempotency-Key", "k").object(t, 200)
	again := s.postJSON(t, "/v1/videos", body, "Idempotency-Key", "k").object(t, 200)
	if first["id"] != again["id"] {
		t.Errorf("%v and %v", first["id"], again["id"])
	}
}

func TestFetchingIsOffByDefault(t *testing.T) {
	s := newStack(t)
	for _, body := range []string{`{"prompt":"a","reference_url":"https://example.com/a.png"}`, `{"prompt":"a","input_reference":{"image_url":"https://example.com/a.png"}}`} {
		if p := s.postJSON(t, "/v1/videos", body).problem(t, 400); p["code"] != "unsupported_parameter" {
			t.Errorf("%v", p)
		}
	}
}
