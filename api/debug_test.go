package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/api"
)

func TestDebugHandler(t *testing.T) {
	registry := prometheus.NewRegistry()
	counted := prometheus.NewCounter(prometheus.CounterOpts{Name: "counted_total", Help: "A counter."})
	registry.MustRegister(counted)
	counted.Inc()
	for path, want := range map[string]string{"/debug/pprof/cmdline": "test", "/metrics": "counted_total 1"} {
		r := httptest.NewRecorder()
		api.DebugHandler(registry).ServeHTTP(r, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if r.Code != http.StatusOK || !strings.Contains(r.Body.String(), want) {
			t.Errorf("%s: %d %s", path, r.Code, r.Body)
		}
	}
}
