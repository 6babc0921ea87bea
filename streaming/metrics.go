package streaming

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metricsPrefix begins every metric of the room. Labels are few and bounded: no ids, no tenants.
const metricsPrefix = "telefuser_serving_"

// buckets are the bounds of the histograms, in seconds.
var buckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// storeMetrics are this process's counts of records.
type storeMetrics struct {
	admissions *prometheus.CounterVec
	finished   *prometheus.CounterVec
	stale      *prometheus.CounterVec
	migrations prometheus.Counter
	reapErrors prometheus.Counter
	queueWait  prometheus.Histogram
}

func counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricsPrefix + name, Help: help}, labels)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: metricsPrefix + name, Help: help})
}

func histogram(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: metricsPrefix + name, Help: help, Buckets: buckets})
}

func newStoreMetrics() *storeMetrics {
	return &storeMetrics{
		admissions: counterVec("session_admissions_total", "Creates by what they answered: assigned, queued, idle, full, capacity, tenant, exists.", "result"),
		finished:   counterVec("sessions_finished_total", "Sessions ended by this process, by reason.", "result"),
		stale:      counterVec("stale_writes_total", "Writes refused because the epoch no longer owned its session.", "op"),
		migrations: counter("migrations_total", "Sessions that went back to the queue for another owner."),
		reapErrors: counter("reaper_errors_total", "Rounds of the reaper that failed."),
		queueWait:  histogram("queue_wait_seconds", "From the creation of a session to its first claim."),
	}
}

func (m *storeMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.admissions, m.finished, m.stale, m.migrations, m.reapErrors, m.queueWait}
}

// The bounds of a scrape: it waits for Redis this long, and asks at most once in gaugesEvery.
const (
	gaugesTimeout = time.Second
	gaugesEvery   = time.Second
)

// storeCollector shows the counters and, from Redis, the registry.
type storeCollector struct {
	store                                  *Store
	queue, workers, capacity, sessions, up *prometheus.Desc

	mu     sync.Mutex
	asked  time.Time
	gauges []prometheus.Metric
}

// Collector shows the store's counters and gauges of the registry, which it reads at most once a second. Without Redis the gauges are absent.
func (s *Store) Collector() prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(metricsPrefix+name, help, labels, nil)
	}
	return &storeCollector{
		store:    s,
		queue:    desc("queue_depth", "Sessions that wait, by queue.", "queue"),
		workers:  desc("workers", "Workers in the registry, by state: idle, busy, failed, other.", "state"),
		capacity: desc("worker_capacity", "Slots of all workers that are up."),
		sessions: desc("worker_sessions", "Slots in use."),
		up:       desc("worker_up", "Workers in the registry."),
	}
}

func (c *storeCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.store.metrics.all() {
		m.Describe(ch)
	}
	for _, d := range []*prometheus.Desc{c.queue, c.workers, c.capacity, c.sessions, c.up} {
		ch <- d
	}
}

func (c *storeCollector) Collect(ch chan<- prometheus.Metric) {
	for _, m := range c.store.metrics.all() {
		m.Collect(ch)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.asked) >= gaugesEvery {
		ctx, cancel := context.WithTimeout(context.Background(), gaugesTimeout)
		defer cancel()
		c.gauges, c.asked = c.read(ctx), time.Now()
	}
	for _, m := range c.gauges {
		ch <- m
	}
}

// read asks Redis.
func (c *storeCollector) read(ctx context.Context) []prometheus.Metric {
	h, err := c.store.Health(ctx, "")
	if err != nil {
		return nil
	}
	gauge := func(d *prometheus.Desc, v int, labels ...string) prometheus.Metric {
		return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	return []prometheus.Metric{
		gauge(c.queue, h.QueuedSessions, "admission"),
		gauge(c.workers, h.WorkersIdle, "idle"), gauge(c.workers, h.WorkersBusy, "busy"), gauge(c.workers, h.WorkersFailed, "failed"),
		gauge(c.workers, h.WorkersTotal-h.WorkersIdle-h.WorkersBusy-h.WorkersFailed, "other"),
		gauge(c.capacity, h.SlotsTotal), gauge(c.sessions, h.SlotsBusy), gauge(c.up, h.WorkersTotal),
	}
}
