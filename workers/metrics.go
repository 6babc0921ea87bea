package workers

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/workers/engine"
)

// Metrics are the worker's collectors. No job, prompt or tenant is ever a label.
type metrics struct {
	tasks    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	stages   *prometheus.HistogramVec
	frames   *prometheus.CounterVec
	retries  *prometheus.CounterVec
	engines  *prometheus.CounterVec
	busy     *prometheus.GaugeVec
	ready    *prometheus.GaugeVec
	lost     *prometheus.GaugeVec
	aside    *prometheus.GaugeVec
	timing   *timingMetrics
}

// durationBuckets reach from a tenth of a second to an hour.
var durationBuckets = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600}

// newMetrics makes and registers the collectors; a second worker on the same registry shares them.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{}
	var failed error
	m.timing, failed = newTimingMetrics(r)
	return m, errors.Join(failed,
		register(r, &m.tasks, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "telefuser_worker_attempts_total", Help: "Attempts that ended, by outcome.",
		}, []string{"pipeline", "outcome"})),
		register(r, &m.duration, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "telefuser_task_duration_seconds", Help: "Time from claim to commit of completed jobs.", Buckets: durationBuckets,
		}, []string{"pipeline"})),
		register(r, &m.stages, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "telefuser_stage_duration_seconds", Help: "Time that one completed job spent in a stage.", Buckets: durationBuckets,
		}, []string{"pipeline", "stage"})),
		register(r, &m.frames, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "telefuser_frames_total", Help: "Frames that were made and encoded.",
		}, []string{"pipeline"})),
		register(r, &m.retries, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "telefuser_store_retries_total", Help: "Calls to the artifact store that were repeated.",
		}, []string{"pipeline"})),
		register(r, &m.engines, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "telefuser_engine_exits_total", Help: "Engine processes that ended, by class; closed is the expected end.",
		}, []string{"pipeline", "class"})),
		register(r, &m.busy, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "telefuser_worker_busy_slots", Help: "Attempts under way in this process.",
		}, []string{"pipeline"})),
		register(r, &m.ready, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "telefuser_worker_ready_slots", Help: "Slots of this process that take jobs.",
		}, []string{"pipeline"})),
		register(r, &m.aside, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "telefuser_worker_devices_aside", Help: "Slots whose device was lost and is set aside until it is tried again.",
		}, []string{"pipeline"})),
		register(r, &m.lost, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "telefuser_worker_lost_slots", Help: "Slots that were given up because of their device or their engine.",
		}, []string{"pipeline"})),
	)
}

// register registers a collector, or takes the equal one that is registered already.
func register[C prometheus.Collector](r prometheus.Registerer, into *C, collector C) error {
	*into = collector
	err := r.Register(collector)
	var taken prometheus.AlreadyRegisteredError
	if errors.As(err, &taken) {
		if existing, ok := taken.ExistingCollector.(C); ok {
			*into = existing
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("workers: metrics: %w", err)
	}
	return nil
}

func (m *metrics) noteExit(pipeline string, class engine.Class) {
	m.engines.WithLabelValues(pipeline, string(class)).Inc()
}

// noteAside counts a device that is set aside, or is back.
func (m *metrics) noteAside(pipeline string, aside bool) {
	gauge := m.aside.WithLabelValues(pipeline)
	if aside {
		gauge.Inc()
		return
	}
	gauge.Dec()
}

// noteStage records one stage of one job.
func (m *metrics) noteStage(pipeline, stage string, ns *int64) {
	if ns != nil {
		m.stages.WithLabelValues(pipeline, stage).Observe(time.Duration(*ns).Seconds())
	}
}
