package workers

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/workers/pipeline"
)

// timingBuckets reach from a hundredth of a millisecond, which the scheduler itself takes, to ten seconds.
var timingBuckets = []float64{0.00001, 0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// timingMetrics are what engines' stage schedulers tell of their chunks.
type timingMetrics struct {
	first, control, period *prometheus.HistogramVec
	wait                   *prometheus.HistogramVec
	idle, diagnostics      *prometheus.CounterVec
}

func newTimingMetrics(r prometheus.Registerer) (*timingMetrics, error) {
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: timingBuckets}, append([]string{"pipeline"}, labels...))
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"pipeline"}, labels...))
	}
	m := &timingMetrics{}
	return m, errors.Join(
		register(r, &m.first, histogram("telefuser_first_output_latency_seconds", "From the first input that the stages of a job's session accepted to their first output.")),
		register(r, &m.control, histogram("telefuser_control_to_output_latency_seconds", "From the acceptance of a chunk's control by the stages to their output.")),
		register(r, &m.period, histogram("telefuser_chunk_period_seconds", "From one output of a job's stages to the next.")),
		register(r, &m.wait, histogram("telefuser_stage_wait_seconds", "From a stage's inputs being ready to its admission of the chunk.", "stage")),
		register(r, &m.idle, counter("telefuser_stage_idle_seconds_total", "Time in which a stage did not work for a job that it had begun, by reason.", "stage", "reason")),
		register(r, &m.diagnostics, counter("telefuser_scheduler_diagnostics_total", "What should not happen in a stage scheduler, by kind.", "kind")),
	)
}

// note records what the scheduler saw of one chunk; before is what it had counted with the chunk before, nil for the first.
func (m *timingMetrics) note(name string, t, before *pipeline.Timing) {
	if t == nil {
		return
	}
	seconds := func(ns int64) float64 { return time.Duration(ns).Seconds() }
	if t.ControlToOutputNS != nil {
		m.control.WithLabelValues(name).Observe(seconds(*t.ControlToOutputNS))
	}
	switch {
	case t.PeriodNS != nil:
		m.period.WithLabelValues(name).Observe(seconds(*t.PeriodNS))
	case t.Session.FirstOutputLatencySeconds != nil: // only the first output has no period
		m.first.WithLabelValues(name).Observe(*t.Session.FirstOutputLatencySeconds)
	}
	for _, i := range t.Invocations {
		m.wait.WithLabelValues(name, i.Stage).Observe(seconds(i.WaitNS))
	}
	for _, i := range t.Idle {
		m.idle.WithLabelValues(name, i.Stage, i.Reason).Add(max(0, seconds(i.DurationNS)))
	}
	old := t.Diagnostics
	if before != nil {
		old = before.Diagnostics
	}
	counted := old.ByName()
	for kind, n := range t.Diagnostics.ByName() {
		m.diagnostics.WithLabelValues(name, kind).Add(float64(max(0, n-counted[kind])))
	}
}
