package bench_test

import (
	"bytes"
	"image/png"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"telefuser/internal/bench"
)

func TestPaddedPNGIsAPictureOfExactlyThatSize(t *testing.T) {
	file, err := bench.PaddedPNG(64, 32, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); len(file) != 100_000 || size.X != 64 || size.Y != 32 {
		t.Errorf("%d bytes of %v, want 100000 of 64x32", len(file), size)
	}
}

func TestUploadsReachTheServerWhole(t *testing.T) {
	file, err := bench.PaddedPNG(64, 32, 50_000)
	if err != nil {
		t.Fatal(err)
	}
	var whole, refused atomic.Int64
	target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		f, _, err := r.FormFile("input_reference")
		if err != nil {
			t.Error(err)
			return
		}
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Equal(got, file) || r.FormValue("prompt") != "a hill" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%d bytes, prompt %q, %v", len(got), r.FormValue("prompt"), err)
		}
		if whole.Add(1)%4 == 0 {
			refused.Add(1)
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	target.Key = "secret"
	form, err := bench.NewForm([][2]string{{"prompt", "a hill"}}, "input_reference", "first.png", file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := bench.Uploads(t.Context(), target, "/v1/videos", form, 6, 2)
	if err != nil {
		t.Fatal(err)
	}
	if r.Uploads != 12 || whole.Load() != 12 || r.Errors["http_429"] != 3 {
		t.Errorf("%+v of %d that arrived, want 12 with 3 refused", r, whole.Load())
	}
}

func TestSlowReadersAreSlow(t *testing.T) {
	target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/content" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(make([]byte, 8<<20)) // fails when the readers hang up, as they should
	})
	plan := bench.ReaderPlan{Path: "/content", Readers: 5, BytesPerSecond: 50_000, Duration: 450 * time.Millisecond}
	r, err := bench.SlowReaders(t.Context(), target, plan)
	if err != nil {
		t.Fatal(err)
	}
	// A sip of 5,000 bytes at 0, 100, 200, 300 and 400 ms at most, and one at the least.
	if len(r.Errors) > 0 || r.Bytes > 5*25_000 || r.BytesMin < 5_000 {
		t.Errorf("%+v, want 5,000 to 25,000 bytes for each of 5 and no errors", r)
	}
	plan.Path = "/other"
	if r, err = bench.SlowReaders(t.Context(), target, plan); err != nil || r.Errors["http_404"] != 5 {
		t.Errorf("%+v, %v, want 5 of http_404", r, err)
	}
}
