package streaming

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// poolMetrics are the counts of one process's workers.
type poolMetrics struct {
	began     time.Time
	gauges    *poolGauges
	scheduler *schedulerMetrics

	outputs, chunks, errors, slo, controls *prometheus.CounterVec
	frames, dropped, actions, encodeCPU    prometheus.Counter
	batches, batchItems                    prometheus.Counter
	uptime                                 prometheus.GaugeFunc
	sessions, statuses, mode               *prometheus.GaugeVec
	actionToFrame, chunkLatency, encode    prometheus.Histogram
	sloBudget, migration, batchSize        prometheus.Histogram
	stages                                 *prometheus.HistogramVec
}

func newPoolMetrics() *poolMetrics {
	m := &poolMetrics{
		began: time.Now(), gauges: newPoolGauges(), scheduler: newSchedulerMetrics(),
		outputs:    counterVec("model_outputs_total", "Chunks asked of sources, by what came: ok, error.", "result"),
		chunks:     counterVec("chunks_total", "Chunks by how far they came: processed, published.", "result"),
		errors:     counterVec("errors_total", "Failures of sessions, by kind: oom, model.", "kind"),
		slo:        counterVec("slo_chunks_total", "Chunks that were made within their own length (met), or were not (missed).", "result"),
		controls:   counterVec("control_messages_total", "Control messages: accepted, refused, dropped.", "result"),
		frames:     counter("frames_total", "Frames published."),
		encodeCPU:  counter("frame_encode_cpu_seconds_total", "Processor time of the encoder, by the clock of its thread."),
		dropped:    counter("dropped_frames_total", "Frames made and not published."),
		batches:    counter("batches_total", "Batches that models worked on."),
		batchItems: counter("batch_items_total", "Chunks in all batches."),
		batchSize: prometheus.NewHistogram(prometheus.HistogramOpts{Name: metricsPrefix + "batch_size", Help: "Chunks that a model makes at once.",
			Buckets: []float64{1, 2, 4, 8, 16}}),
		actions:       counter("actions_total", "Controls that changed something."),
		actionToFrame: histogram("action_to_first_frame_seconds", "From a control's arrival to the first frame that was made with it."),
		chunkLatency:  histogram("chunk_latency_seconds", "From the wish for a chunk to its frames, the wait for the model included."),
		encode:        histogram("frame_encode_seconds", "Time of the encoder for one frame."),
		sloBudget:     histogram("slo_budget_seconds", "The length of chunks: frames by frames a second."),
		migration:     histogram("migration_duration_seconds", "From the loss of an owner to the claim by the next."),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: metricsPrefix + "pipeline_stage_latency_seconds",
			Help: "Time of a stage for one chunk.", Buckets: buckets}, []string{"stage"}),
		sessions: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricsPrefix + "sessions", Help: "Sessions in this process, by state: live."}, []string{"state"}),
		statuses: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricsPrefix + "session_status", Help: "Sessions in this process, by status."}, []string{"status"}),
		mode: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricsPrefix + "scheduler_mode_info",
			Help: "1 for how sessions share a model: exclusive, or by time_slice."}, []string{"mode"}),
	}
	m.sessions.WithLabelValues("live").Set(0)
	for _, status := range ownedStatuses() {
		m.statuses.WithLabelValues(string(status)).Set(0)
	}
	for _, kind := range []string{errorOOM, errorModel} {
		m.errors.WithLabelValues(kind)
	}
	m.uptime = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metricsPrefix + "uptime_seconds", Help: "Age of the pool."},
		func() float64 { return time.Since(m.began).Seconds() })
	return m
}

func (m *poolMetrics) all() []prometheus.Collector {
	return append(m.scheduler.all(), m.outputs, m.chunks, m.errors, m.slo, m.controls, m.frames, m.encodeCPU, m.dropped, m.batches, m.batchItems, m.batchSize, m.actions,
		m.actionToFrame, m.chunkLatency, m.encode, m.sloBudget, m.migration, m.stages, m.sessions, m.statuses, m.mode, m.uptime, m.gauges)
}

// The kinds of errors.
const (
	errorOOM   = "oom"
	errorModel = "model"
)

// failed counts a failure of a source.
func (m *poolMetrics) failed(err error) {
	kind := errorModel
	if errors.Is(err, ErrOutOfMemory) {
		kind = errorOOM
	}
	m.errors.WithLabelValues(kind).Inc()
}

// batch counts a batch of so many chunks.
func (m *poolMetrics) batch(items int) {
	m.batches.Inc()
	m.batchItems.Add(float64(items))
	m.batchSize.Observe(float64(items))
	m.gauges.batch(items)
}

// share says how sessions share the model.
func (m *poolMetrics) share(sessionsPerWorkerMax int) {
	mode := "exclusive"
	if sessionsPerWorkerMax > 1 {
		mode = "time_slice"
	}
	m.mode.WithLabelValues(mode).Set(1)
}

// ownedStatuses are those of a session that has an owner.
func ownedStatuses() []Status {
	return []Status{StatusJoiningRoom, StatusStartingPipeline, StatusRunning, StatusDraining}
}

func (m *poolMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(ch)
	}
}

func (m *poolMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(ch)
	}
}
