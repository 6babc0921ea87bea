package streaming

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// poolGauges are worked out when somebody looks: what is not known then is absent.
type poolGauges struct {
	aggregate rate
	chunks    rate
	chunksMet rate

	mu            sync.Mutex
	sessions      map[*rate]struct{}
	workers       []*workerStats
	batches       int64
	batched       int64
	fps, slo, avg *prometheus.Desc
	worker        *workerDescs
}

func newPoolGauges() *poolGauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(metricsPrefix+name, help, labels, nil)
	}
	return &poolGauges{
		sessions: map[*rate]struct{}{},
		fps:      desc("published_fps", "Frames published a second over the last 30 s, by scope: aggregate, and per_active_session_mean, p50, p95, min of the sessions.", "scope"),
		slo:      desc("slo_attainment_ratio", "Share of the chunks of the last 30 s that were made within their own length."),
		avg:      desc("mean_batch_size", "Chunks that a model made at once, in the mean."),
		worker:   newWorkerDescs(),
	}
}

// join gives a session its rate; call leave when it ends.
func (g *poolGauges) join() (sessionRate *rate, leave func()) {
	r := &rate{}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sessions[r] = struct{}{}
	return r, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.sessions, r)
	}
}

// add takes a worker in.
func (g *poolGauges) add(w *workerStats) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.workers = append(g.workers, w)
}

// batch counts a batch of so many chunks.
func (g *poolGauges) batch(items int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.batches++
	g.batched += int64(items)
}

// chunk counts a chunk that was made in time, or was not.
func (g *poolGauges) chunk(met bool, now time.Time) {
	g.chunks.add(now)
	if met {
		g.chunksMet.add(now)
	}
}

// Describe is for the registry.
func (g *poolGauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range append([]*prometheus.Desc{g.fps, g.slo, g.avg}, g.worker.all()...) {
		ch <- d
	}
}

// Collect works the gauges out.
func (g *poolGauges) Collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(g.fps, g.aggregate.perSecond(now), "aggregate")
	if all := g.chunks.count(now); all > 0 {
		gauge(g.slo, float64(g.chunksMet.count(now))/float64(all))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.batches > 0 {
		gauge(g.avg, float64(g.batched)/float64(g.batches))
	}
	var each []float64
	sum := 0.0
	for r := range g.sessions {
		if r.any() { // a session that shows nothing yet has no rate
			each = append(each, r.perSecond(now))
			sum += each[len(each)-1]
		}
	}
	if len(each) > 0 {
		gauge(g.fps, sum/float64(len(each)), "per_active_session_mean")
		gauge(g.fps, quantile(each, 0), "min")
		gauge(g.fps, quantile(each, 0.5), "p50")
		gauge(g.fps, quantile(each, 0.95), "p95")
	}
	for _, w := range g.workers {
		w.gauges(g.worker, now, ch)
	}
}
