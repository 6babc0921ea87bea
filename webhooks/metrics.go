package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are this process's counts.
type metrics struct {
	attempts *prometheus.CounterVec
	seconds  prometheus.Histogram
}

func newMetrics(into prometheus.Registerer, queue Queue) (*metrics, error) {
	m := &metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "telefuser_webhooks_attempts_total",
			Help: "Attempts to deliver an event, by what came of it: delivered, retried, failed, disabled, cut_off, sealed."}, []string{"result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "telefuser_webhooks_attempt_seconds",
			Help: "Duration of attempts.", Buckets: []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15}}),
	}
	if into == nil {
		return m, nil
	}
	waiting := &oldest{queue: queue, desc: prometheus.NewDesc("telefuser_webhooks_oldest_due_seconds",
		"How long the delivery that is due the longest has been so; 0 when none is, absent while Redis is away.", nil, nil)}
	for _, c := range []prometheus.Collector{m.attempts, m.seconds, waiting} {
		if err := into.Register(c); err != nil {
			return nil, fmt.Errorf("webhooks: metrics: %w", err)
		}
	}
	return m, nil
}

// oldest shows the age of what waits, in all processes.
type oldest struct {
	queue Queue
	desc  *prometheus.Desc
}

// oldestTimeout bounds how long a scrape waits for Redis.
const oldestTimeout = time.Second

// Describe lists the metric.
func (o *oldest) Describe(ch chan<- *prometheus.Desc) { ch <- o.desc }

// Collect shows it.
func (o *oldest) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), oldestTimeout)
	defer cancel()
	age, err := o.queue.OldestDelivery(ctx)
	if err != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(o.desc, prometheus.GaugeValue, age.Seconds())
}
