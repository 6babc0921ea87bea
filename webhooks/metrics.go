package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are this process's counts, and the age of what waits.
type metrics struct {
	attempts *prometheus.CounterVec
	seconds  prometheus.Histogram
}

// oldestTimeout bounds how long a scrape waits for Redis.
const oldestTimeout = time.Second

func newMetrics(into prometheus.Registerer, queue Queue) (*metrics, error) {
	m := &metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "telefuser_webhooks_attempts_total",
			Help: "Attempts to deliver an event, by what came of it: delivered, retried, failed, disabled, cut_off."}, []string{"result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "telefuser_webhooks_attempt_seconds",
			Help: "Duration of attempts.", Buckets: []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15}}),
	}
	if into == nil {
		return m, nil
	}
	oldest := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "telefuser_webhooks_oldest_due_seconds",
		Help: "How long the delivery that is due the longest has been so; 0 when none is."}, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), oldestTimeout)
		defer cancel()
		age, err := queue.OldestDelivery(ctx)
		if err != nil {
			return 0
		}
		return age.Seconds()
	})
	for _, c := range []prometheus.Collector{m.attempts, m.seconds, oldest} {
		if err := into.Register(c); err != nil {
			return nil, fmt.Errorf("webhooks: metrics: %w", err)
		}
	}
	return m, nil
}
