package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what this room counts. Labels are route patterns, methods and statuses, so that their number is bounded.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inflight prometheus.Gauge
	streams  prometheus.Gauge
	created  *prometheus.CounterVec
	replayed prometheus.Counter
	uploads  prometheus.Counter
	batches  *prometheus.CounterVec
	lines    *prometheus.CounterVec
}

func newMetrics(registry *prometheus.Registry, started time.Time) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "telefuser_http_requests_total", Help: "HTTP requests by route, method and status."}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "telefuser_http_request_duration_seconds", Help: "Time from the first byte of a request's head to the end of its answer.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600}}, []string{"method", "route"}),
		inflight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "telefuser_http_requests_inflight", Help: "HTTP requests under way."}),
		streams:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "telefuser_event_streams", Help: "Open event streams."}),
		created:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "telefuser_tasks_created_total", Help: "Jobs accepted, by pipeline and task."}, []string{"pipeline", "task"}),
		replayed: prometheus.NewCounter(prometheus.CounterOpts{Name: "telefuser_tasks_replayed_total", Help: "Creates that were answered with a job that was there already."}),
		batches:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "telefuser_batches_total", Help: "Batches that this process moved to a status; validating are those that it accepted."}, []string{"status"}),
		lines: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "telefuser_batch_lines_total",
			Help: "Lines of batches: accepted became a video, refused was a mistake of the line's, waited met a service that takes no more at the moment."}, []string{"result"}),
		uploads: prometheus.NewCounter(prometheus.CounterOpts{Name: "telefuser_upload_bytes_total", Help: "Bytes of files received in request bodies."}),
	}
	uptime := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "telefuser_service_uptime_seconds", Help: "Time since this API process began."},
		func() float64 { return time.Since(started).Seconds() })
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.inflight, m.streams, m.created, m.replayed, m.uploads, m.batches, m.lines, uptime} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// metricsHandler serves the registry as Prometheus text.
func metricsHandler(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true, ErrorHandling: promhttp.ContinueOnError})
}

func (m *metrics) observe(method, route string, status int, took time.Duration) {
	method = boundedMethod(method)
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(method, route).Observe(took.Seconds())
}

// boundedMethod keeps made-up methods out of labels and logs.
func boundedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}
