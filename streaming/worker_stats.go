package streaming

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// latenciesKept is how many of a worker's last chunks its latency gauges look at.
const latenciesKept = 256

// workerStats is what one worker has done lately, for its gauges.
type workerStats struct {
	name string

	mu       sync.Mutex
	sessions int
	batchMax int
	took     []time.Duration
	next     int
	stages   map[string]time.Duration
	busy     busyTime
	seen     map[string]int64
}

func newWorkerStats(name string) *workerStats {
	return &workerStats{name: name, stages: map[string]time.Duration{}, seen: map[string]int64{}}
}

// session notes that a session came (1) or went (-1).
func (s *workerStats) session(change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions += change
}

// begin notes that the worker's model begins to work on a batch of so many chunks; end that it is over.
func (s *workerStats) begin(batch int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batchMax = max(s.batchMax, batch)
	s.busy.begin(now)
}

func (s *workerStats) end(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy.end(now)
}

// chunk notes how long a chunk took, and its stages.
func (s *workerStats) chunk(took time.Duration, stagesNS map[string]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.took) < latenciesKept {
		s.took = append(s.took, took)
	} else {
		s.took[s.next] = took
		s.next = (s.next + 1) % latenciesKept
	}
	for stage, ns := range stagesNS {
		s.stages[stage] = time.Duration(ns)
	}
}

// diagnose counts what is new in the counts of the worker's scheduler. Counts below those before are of a new engine.
func (s *workerStats) diagnose(d Diagnostics, counter *prometheus.CounterVec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, n := range d.byName() {
		if n < s.seen[kind] {
			s.seen[kind] = 0
		}
		counter.WithLabelValues(kind).Add(float64(n - s.seen[kind]))
		s.seen[kind] = n
	}
}

// gauges writes what is known now; what is not known is absent.
func (s *workerStats) gauges(d *workerDescs, now time.Time, ch chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, append([]string{s.name}, labels...)...)
	}
	gauge(d.sessions, float64(s.sessions))
	gauge(d.busy, s.busy.ratio(now))
	if s.batchMax > 0 {
		gauge(d.batchMax, float64(s.batchMax))
	}
	if n := len(s.took); n > 0 {
		var sum time.Duration
		for _, t := range s.took {
			sum += t
		}
		gauge(d.latency, sum.Seconds()/float64(n), "mean")
		gauge(d.latency, quantile(s.took, 0.95).Seconds(), "p95")
	}
	for _, stage := range slices.Sorted(maps.Keys(s.stages)) {
		gauge(d.stage, s.stages[stage].Seconds(), stage)
	}
}

// quantile is the nearest rank; there is at least one value.
func quantile[T time.Duration | float64](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// workerDescs describe the gauges of the workers. The label worker is a number within the process.
type workerDescs struct{ sessions, busy, batchMax, latency, stage *prometheus.Desc }

func newWorkerDescs() *workerDescs {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(metricsPrefix+name, help, append([]string{"worker"}, labels...), nil)
	}
	return &workerDescs{
		sessions: desc("worker_active_sessions", "Sessions that a worker of this process runs."),
		busy:     desc("worker_busy_ratio", "Share of the last 30 s in which the worker's model was at work."),
		batchMax: desc("worker_maximum_batch_size", "The most chunks that the worker's model made at once."),
		latency:  desc("worker_chunk_latency_seconds", "Time of the worker's last 256 chunks, by stat: mean, p95.", "stat"),
		stage:    desc("worker_pipeline_stage_last_latency_seconds", "Time of a stage for the worker's last chunk.", "stage"),
	}
}

func (d *workerDescs) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.sessions, d.busy, d.batchMax, d.latency, d.stage}
}
