package streaming

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// poolMetrics are the counts of one process's workers.
type poolMetrics struct {
	began time.Time
	rate  rate

	outputs, chunks, errors, slo, controls *prometheus.CounterVec
	frames, dropped, actions               prometheus.Counter
	uptime, perSecond                      prometheus.GaugeFunc
	sessions                               *prometheus.GaugeVec
	actionToFrame, chunkLatency, encode    prometheus.Histogram
	sloBudget, migration                   prometheus.Histogram
	stages                                 *prometheus.HistogramVec
}

func newPoolMetrics() *poolMetrics {
	m := &poolMetrics{
		began:         time.Now(),
		outputs:       counterVec("model_outputs_total", "Chunks asked of sources, by what came: ok, error.", "result"),
		chunks:        counterVec("chunks_total", "Chunks by how far they came: processed, published.", "result"),
		errors:        counterVec("errors_total", "Failures of sessions, by kind.", "kind"),
		slo:           counterVec("slo_chunks_total", "Chunks that were made within their own length (met), or were not (missed).", "result"),
		controls:      counterVec("control_messages_total", "Control messages: accepted, refused, dropped.", "result"),
		frames:        counter("frames_total", "Frames published."),
		dropped:       counter("dropped_frames_total", "Frames made and not published."),
		actions:       counter("actions_total", "Controls that changed something."),
		actionToFrame: histogram("action_to_first_frame_seconds", "From a control's arrival to the first frame that was made with it."),
		chunkLatency:  histogram("chunk_latency_seconds", "From the wish for a chunk to its frames, the wait for the model included."),
		encode:        histogram("frame_encode_seconds", "Time of the encoder for one frame."),
		sloBudget:     histogram("slo_budget_seconds", "The length of chunks: frames by frames a second."),
		migration:     histogram("migration_duration_seconds", "From the loss of an owner to the claim by the next."),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: metricsPrefix + "pipeline_stage_latency_seconds",
			Help: "Time of a stage for one chunk.", Buckets: buckets}, []string{"stage"}),
		sessions: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricsPrefix + "sessions", Help: "Sessions in this process, by state: live."}, []string{"state"}),
	}
	m.sessions.WithLabelValues("live").Set(0)
	m.uptime = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metricsPrefix + "uptime_seconds", Help: "Age of the pool."},
		func() float64 { return time.Since(m.began).Seconds() })
	m.perSecond = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metricsPrefix + "published_fps", Help: "Frames published a second over the last 30 s.",
		ConstLabels: prometheus.Labels{"scope": "aggregate"}}, func() float64 { return m.rate.perSecond(time.Now()) })
	return m
}

func (m *poolMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.outputs, m.chunks, m.errors, m.slo, m.controls, m.frames, m.dropped, m.actions, m.actionToFrame, m.chunkLatency, m.encode,
		m.sloBudget, m.migration, m.stages, m.sessions, m.uptime, m.perSecond}
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

// rateSeconds is the length of the window of a rate.
const rateSeconds = 30

// rate counts events of the last seconds.
type rate struct {
	mu     sync.Mutex
	counts [rateSeconds + 1]int64
	second int64
	began  int64
}

// advance empties the seconds that have passed; the caller holds the lock.
func (r *rate) advance(now time.Time) int64 {
	second := now.Unix()
	if r.began == 0 {
		r.began, r.second = second, second
	}
	for s := max(r.second+1, second-rateSeconds); s <= second; s++ {
		r.counts[s%int64(len(r.counts))] = 0
	}
	r.second = max(r.second, second)
	return second
}

func (r *rate) add(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[r.advance(now)%int64(len(r.counts))]++
}

// perSecond is the mean over the whole seconds of the window.
func (r *rate) perSecond(now time.Time) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	second := r.advance(now)
	var sum int64
	for s := second - rateSeconds; s < second; s++ {
		sum += r.counts[((s%int64(len(r.counts)))+int64(len(r.counts)))%int64(len(r.counts))]
	}
	return float64(sum) / float64(max(1, min(rateSeconds, second-r.began)))
}
