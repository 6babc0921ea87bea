package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// counters are this process's counts. Labels are few and bounded: no ids, no tenants.
type counters struct {
	created       *prometheus.CounterVec
	ended         *prometheus.CounterVec
	requeued      *prometheus.CounterVec
	reaped        *prometheus.CounterVec
	tickets       *prometheus.CounterVec
	stale         *prometheus.CounterVec
	refused       *prometheus.CounterVec
	leaseLost     prometheus.Counter
	unticketed    prometheus.Counter
	renewErrors   prometheus.Counter
	commitRetries prometheus.Counter
	ticketErrors  prometheus.Counter
	outboxSent    prometheus.Counter
	reticketed    prometheus.Counter
	reapErrors    prometheus.Counter
	swept         prometheus.Counter
	deleted       prometheus.Counter
	epochs        prometheus.Counter
	vanished      prometheus.Counter
}

func newCounters() *counters {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "telefuser_jobs_" + name, Help: help}, labels)
	}
	one := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "telefuser_jobs_" + name, Help: help})
	}
	return &counters{
		created:       vec("created_total", "Jobs accepted by this process.", "pipeline"),
		ended:         vec("ended_total", "Jobs ended by this process; code is empty for completed ones.", "pipeline", "code"),
		requeued:      vec("given_back_total", "Attempts that gave their job back, by cause.", "pipeline", "cause"),
		reaped:        vec("reaped_total", "Attempts whose lease ran out, by the state their job went to.", "pipeline", "state"),
		tickets:       vec("tickets_total", "Tickets taken from the queue: claimed, stale, busy, newer, undecodable, unknown_type, error.", "result"),
		stale:         vec("stale_writes_total", "Writes refused because the attempt no longer owned its job.", "op"),
		refused:       vec("refused_total", "Creates refused: queue, memory, rate, queued, age, work, stored.", "reason"),
		leaseLost:     one("lease_lost_total", "Runs stopped because another attempt owns their job."),
		unticketed:    one("claims_without_ticket_total", "Jobs begun by a worker that looked for itself, because no ticket came."),
		renewErrors:   one("renew_errors_total", "Renewals that Redis did not answer."),
		commitRetries: one("commit_retries_total", "Commits tried again because Redis did not answer."),
		ticketErrors:  one("ticket_errors_total", "Tickets that could not be sent with their record."),
		outboxSent:    one("outbox_sent_total", "Tickets looked after by the reaper because their sending was not acknowledged."),
		reticketed:    one("tickets_lost_total", "Tickets that vanished from the queue and were sent anew."),
		reapErrors:    one("reaper_errors_total", "Rounds of the reaper that Redis did not answer."),
		swept:         one("swept_total", "Expired records and unowned objects that became garbage."),
		deleted:       one("deleted_total", "Jobs deleted by their users."),
		vanished:      one("processes_vanished_total", "Processes that ended without a word, or were out of Redis' sight for longer than a lease; one process counts for all."),
		epochs:        one("record_sets_changed_total", "Times that Redis held another set of records than before, or none."),
	}
}

func (c *counters) all() []prometheus.Collector {
	return []prometheus.Collector{c.created, c.ended, c.requeued, c.reaped, c.tickets, c.stale, c.refused, c.leaseLost, c.unticketed, c.renewErrors, c.commitRetries, c.ticketErrors,
		c.outboxSent, c.reticketed, c.reapErrors, c.swept, c.deleted, c.epochs, c.vanished}
}

// The bounds of a scrape: it waits for Redis this long, and asks at most once in gaugesEvery.
const (
	gaugesTimeout = time.Second
	gaugesEvery   = time.Second
)

// collector shows the counters and, from Redis, what there is to do.
type collector struct {
	store   *Store
	jobs    *prometheus.Desc
	oldest  *prometheus.Desc
	queue   *prometheus.Desc
	garbage *prometheus.Desc
	outbox  *prometheus.Desc
	workers *prometheus.Desc
	batches *prometheus.Desc
	overdue *prometheus.Desc
	up      *prometheus.Desc

	mu     sync.Mutex
	asked  time.Time
	gauges []prometheus.Metric
}

// Collector shows the metrics of this process and the depths in Redis, which it reads in O(pipelines), at most once a second.
func (s *Store) Collector() prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("telefuser_jobs_"+name, help, labels, nil)
	}
	return &collector{
		store:   s,
		jobs:    desc("jobs", "Jobs that have not ended, by state.", "pipeline", "state"),
		oldest:  desc("oldest_queued_seconds", "Age of the job at the head of the queue; 0 when none waits.", "pipeline"),
		queue:   desc("queue_messages", "Messages of the queue by list: pending, active, and active_without_lease, which nothing would recover.", "pipeline", "list"),
		garbage: desc("garbage_entries", "Entries of objects to delete."),
		outbox:  desc("outbox_entries", "Jobs whose ticket is not known to be out."),
		workers: desc("workers", "Workers that are up."),
		batches: desc("batches_open", "Batches that have not ended."),
		overdue: desc("batches_oldest_due_seconds", "How long the batch that is due the longest has been so; 0 when none is."),
		up:      desc("redis_up", "1 when Redis answered this scrape."),
	}
}

// Describe lists the metrics.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.store.metrics.all() {
		m.Describe(ch)
	}
	for _, d := range []*prometheus.Desc{c.jobs, c.oldest, c.queue, c.garbage, c.outbox, c.workers, c.batches, c.overdue, c.up} {
		ch <- d
	}
}

// Collect shows them. Without Redis the gauges are absent, and redis_up is 0.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for _, m := range c.store.metrics.all() {
		m.Collect(ch)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.asked) >= gaugesEvery {
		ctx, cancel := context.WithTimeout(context.Background(), gaugesTimeout)
		defer cancel()
		c.gauges = c.read(ctx)
		c.asked = time.Now()
	}
	for _, m := range c.gauges {
		ch <- m
	}
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// read asks Redis.
func (c *collector) read(ctx context.Context) []prometheus.Metric {
	s := c.store
	down := []prometheus.Metric{gauge(c.up, 0)}
	pipe := s.rdb.Pipeline()
	names := pipe.SMembers(ctx, s.key("pipelines"))
	garbage, outbox, workers := pipe.ZCard(ctx, s.key("garbage")), pipe.ZCard(ctx, s.key("outbox")), pipe.ZCard(ctx, s.key("workers"))
	batches, due, now := pipe.ZCard(ctx, s.key("bq")), pipe.ZRangeWithScores(ctx, s.key("bq"), 0, 0), pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return down
	}
	out := []prometheus.Metric{gauge(c.up, 1), gauge(c.garbage, float64(garbage.Val())), gauge(c.outbox, float64(outbox.Val())), gauge(c.workers, float64(workers.Val())),
		gauge(c.batches, float64(batches.Val())), gauge(c.overdue, overdue(due.Val(), now.Val()).Seconds())}
	for _, p := range names.Val() {
		counts, err := s.Counts(ctx, p)
		if err != nil {
			return down
		}
		lists, err := s.tickets.depth(ctx, p)
		if err != nil {
			return down
		}
		out = append(out,
			gauge(c.jobs, float64(counts.Queued), p, "queued"), gauge(c.jobs, float64(counts.Running), p, "in_progress"),
			gauge(c.oldest, counts.OldestQueuedAge.Seconds(), p),
			gauge(c.queue, float64(lists.pending), p, "pending"), gauge(c.queue, float64(lists.active), p, "active"),
			gauge(c.queue, float64(max(0, lists.active-lists.leased)), p, "active_without_lease"))
	}
	return out
}

// overdue is how long the first entry, whose score is in milliseconds, has been due.
func overdue(first []redis.Z, now time.Time) time.Duration {
	if len(first) == 0 {
		return 0
	}
	return max(0, now.Sub(time.UnixMilli(int64(first[0].Score))))
}
