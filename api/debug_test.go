package api_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/api"
	"telefuser/openapi"
)

func TestDebugHandler(t *testing.T) {
	registry := prometheus.NewRegistry()
	counted := prometheus.NewCounter(prometheus.CounterOpts{Name: "counted_total", Help: "A counter."})
	registry.MustRegister(counted)
	counted.Inc()
	var broken error
	handler := api.DebugHandler(registry, api.NewReadiness(slog.New(slog.DiscardHandler), api.Link{Reason: openapi.ReadyReasonStorage, Look: func(context.Context) error { return broken }}))
	get := func(path string) *httptest.ResponseRecorder {
		r := httptest.NewRecorder()
		handler.ServeHTTP(r, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return r
	}
	for path, want := range map[string]string{"/debug/pprof/cmdline": "test", "/metrics": "counted_total 1", "/health": `{"status":"healthy"}`, "/ready": `{"status":"ready"}`} {
		if r := get(path); r.Code != http.StatusOK || !strings.Contains(r.Body.String(), want) {
			t.Errorf("%s: %d %s", path, r.Code, r.Body)
		}
	}
	broken = errors.New("canary")
	eventually(t, "it is not ready", func() bool { return get("/ready").Code == http.StatusServiceUnavailable })
	if r := get("/ready"); strings.TrimSpace(r.Body.String()) != `{"reason":"storage","status":"not_ready"}` {
		t.Errorf("not ready: %s", r.Body)
	}
	if r := get("/health"); r.Code != http.StatusOK {
		t.Errorf("it lives all the same: %d", r.Code)
	}
	broken = nil
	eventually(t, "it is ready again", func() bool { return get("/ready").Code == http.StatusOK })
}
