package streaming

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// schedulerMetrics are what the stage schedulers of this process's sources tell.
type schedulerMetrics struct {
	firstOutput, controlToOutput, chunkPeriod prometheus.Histogram
	wait, run                                 *prometheus.HistogramVec
	idle, cpu, diagnostics                    *prometheus.CounterVec
}

func newSchedulerMetrics() *schedulerMetrics {
	byStage := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: metricsPrefix + name, Help: help, Buckets: buckets}, []string{"stage"})
	}
	m := &schedulerMetrics{
		firstOutput:     histogram("first_output_latency_seconds", "From the first input that a session's stages accepted to their first output."),
		controlToOutput: histogram("control_to_output_latency_seconds", "From the acceptance of a chunk's control by the stages to their output."),
		chunkPeriod:     histogram("chunk_period_seconds", "From one output of a session's stages to the next."),
		wait:            byStage("stage_wait_seconds", "From a stage's inputs being ready to its admission of the chunk."),
		run:             byStage("stage_run_seconds", "From a stage's admission of a chunk to its completion."),
		idle:            counterVec("stage_idle_seconds_total", "Time in which a stage did not work for a session that it had begun, by reason.", "stage", "reason"),
		cpu:             counterVec("stage_cpu_seconds_total", "Processor time of a stage's own work in its engine, by the clocks of its threads.", "stage"),
		diagnostics:     counterVec("scheduler_diagnostics_total", "What should not happen in a stage scheduler, by kind.", "kind"),
	}
	for kind := range (Diagnostics{}).byName() {
		m.diagnostics.WithLabelValues(kind)
	}
	return m
}

func (m *schedulerMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.firstOutput, m.controlToOutput, m.chunkPeriod, m.wait, m.run, m.idle, m.cpu, m.diagnostics}
}

// observe takes the facts of one chunk.
func (m *schedulerMetrics) observe(t *Timing) {
	if t.ControlToOutputNS != nil {
		m.controlToOutput.Observe(time.Duration(*t.ControlToOutputNS).Seconds())
	}
	switch {
	case t.PeriodNS != nil:
		m.chunkPeriod.Observe(time.Duration(*t.PeriodNS).Seconds())
	case t.FirstOutputSeconds != nil: // only the first output has no period
		m.firstOutput.Observe(*t.FirstOutputSeconds)
	}
	for _, i := range t.Invocations {
		m.wait.WithLabelValues(i.Stage).Observe(time.Duration(i.WaitNS).Seconds())
		m.run.WithLabelValues(i.Stage).Observe(time.Duration(i.RunNS).Seconds())
		m.cpu.WithLabelValues(i.Stage).Add(time.Duration(max(0, i.CPUNS)).Seconds())
	}
	for _, i := range t.Idle {
		m.idle.WithLabelValues(i.Stage, i.Reason).Add(time.Duration(max(0, i.DurationNS)).Seconds())
	}
}
