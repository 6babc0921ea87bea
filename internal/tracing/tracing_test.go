package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"telefuser/internal/tracing"
)

func TestOffCostsNothingAndSaysNothing(t *testing.T) {
	tracer, err := tracing.New(t.Context(), tracing.Config{})
	if tracer != nil || err != nil {
		t.Fatalf("%v, %v", tracer, err)
	}
	ctx, span := tracer.Start(tracer.Join(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), "x")
	span.Text("a", "b")
	span.Number("a", 1)
	span.Name("y")
	span.Fail("z")
	span.End()
	span.EndAt(time.Now())
	tracer.Close(ctx)
	if place := tracing.Place(ctx); place != "" || span != nil {
		t.Errorf("%q, %v", place, span)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for _, cfg := range []tracing.Config{{Endpoint: "127.0.0.1:4318"}, {Endpoint: "ftp://x"}, {Endpoint: "http://"}, {Endpoint: "http://x", Ratio: 2}} {
		if _, err := tracing.New(t.Context(), cfg); !errors.Is(err, tracing.ErrInvalid) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestAPlaceTravels(t *testing.T) {
	tracer, err := tracing.New(t.Context(), tracing.Config{Endpoint: "http://127.0.0.1:1", Ratio: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { ctx, cancel := context.WithCancel(context.Background()); cancel(); tracer.Close(ctx) }()
	const trace = "0af7651916cd43dd8448eb211c80319c"
	ctx, _ := tracer.Start(tracer.Join(t.Context(), "00-"+trace+"-b7ad6b7169203331-01"), "x")
	if place := tracing.Place(ctx); !strings.Contains(place, trace) || !strings.HasSuffix(place, "-01") {
		t.Errorf("within a trace: %q", place)
	}
	ctx, _ = tracer.Start(tracer.Join(t.Context(), "00-"+trace+"-b7ad6b7169203331-00"), "x")
	if place := tracing.Place(ctx); !strings.HasSuffix(place, "-00") {
		t.Errorf("a trace that is not kept: %q", place)
	}
	for _, bad := range []string{"", "garbage", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", strings.Repeat("0", 1<<16)} {
		ctx, _ := tracer.Start(tracer.Join(t.Context(), bad), "x")
		if place := tracing.Place(ctx); place == "" || strings.Contains(place, strings.Repeat("0", 32)) {
			t.Errorf("%.40q begins the trace %q", bad, place)
		}
	}
}

// TestAReceiverThatRefuses holds nothing up and fills no log.
func TestAReceiverThatRefuses(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	var logs bytes.Buffer
	tracer, err := tracing.New(t.Context(), tracing.Config{Endpoint: server.URL, Ratio: 1, Log: slog.New(slog.NewTextHandler(&logs, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		_, span := tracer.Start(t.Context(), "x")
		span.End()
	}
	tracer.Close(t.Context())
	if calls.Load() == 0 || strings.Count(logs.String(), "\n") != 1 {
		t.Errorf("%d calls, log: %s", calls.Load(), logs.String())
	}
}
