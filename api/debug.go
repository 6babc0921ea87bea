package api

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/openapi"
)

// DebugHandler serves the profiles of the process, at /metrics what the registry gathers, at /health that it lives, and at /ready whether it is ready, and what is broken
// when it is not, as /v1/service/ready of an API does; all of it without a key. It belongs on a listener of its own that only the machine itself can reach.
func DebugHandler(registry *prometheus.Registry, ready *Readiness) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.Handle("GET /metrics", metricsHandler(registry))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		writeReady(w, http.StatusOK, map[string]string{"status": "healthy"})
	})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		if reason := ready.Reason(r.Context()); reason != "" {
			writeReady(w, http.StatusServiceUnavailable, openapi.Ready{Status: openapi.ReadyStatusNotReady, Reason: &reason})
			return
		}
		writeReady(w, http.StatusOK, openapi.Ready{Status: openapi.ReadyStatusReady})
	})
	return mux
}

func writeReady(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever asked has gone
}
