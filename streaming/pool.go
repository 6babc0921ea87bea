package streaming

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Pool runs sessions on engines: it claims one whenever a slot is free.
type Pool struct {
	cfg     PoolConfig
	store   *Store
	workers []*worker
	metrics *poolMetrics
	log     *slog.Logger
}

// NewPool makes the workers of one process, one per engine. It does not start anything.
func NewPool(cfg PoolConfig, store *Store, engines []Engine, rooms Rooms, log *slog.Logger) (*Pool, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if store == nil || rooms == nil || log == nil || len(engines) == 0 {
		return nil, fmt.Errorf("streaming: a pool needs a store, an engine, rooms and a logger: %w", ErrInvalid)
	}
	p := &Pool{cfg: cfg, store: store, metrics: newPoolMetrics(), log: log}
	p.metrics.share(cfg.SessionsPerWorkerMax)
	for i, engine := range engines {
		stats := newWorkerStats(strconv.Itoa(i))
		p.metrics.gauges.add(stats)
		w := &worker{cfg: cfg, store: store, engine: engine, rooms: rooms, metrics: p.metrics, stats: stats, id: fmt.Sprintf("%s-worker-%d", cfg.Owner, i),
			log: log.With("worker", i), lease: NewExecutionLease(cfg.TimeSlice, nil), runs: map[held]*run{}, wake: make(chan struct{}, 1), beat: make(chan struct{}, 1)}
		if i < len(cfg.Devices) {
			w.devices = cfg.Devices[i]
		}
		p.workers = append(p.workers, w)
	}
	return p, nil
}

// Collector shows the pool's metrics.
func (p *Pool) Collector() prometheus.Collector { return p.metrics }

// WorkerIDs are the workers' names in the registry.
func (p *Pool) WorkerIDs() []string {
	ids := make([]string, len(p.workers))
	for i, w := range p.workers {
		ids[i] = w.id
	}
	return ids
}

// Run claims and runs sessions until ctx ends; then it takes no more, lets the live ones go on for Grace, and returns when all have ended or were handed over.
func (p *Pool) Run(ctx context.Context) error {
	hearing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var ear, hands sync.WaitGroup
	ear.Go(func() { p.listen(hearing) })
	for _, w := range p.workers {
		hands.Go(func() { w.run(ctx) })
	}
	hands.Wait()
	stop()
	ear.Wait()
	return nil
}

// listenPause is the pause before the channel of nudges is tried again. Meanwhile workers poll.
const listenPause = 500 * time.Millisecond

// listen passes nudges on until ctx ends. What is lost costs a poll, nothing else.
func (p *Pool) listen(ctx context.Context) {
	sub := p.store.rdb.Subscribe(ctx, p.store.eventsChannel())
	defer func() { _ = sub.Close() }()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })()
	for ctx.Err() == nil {
		message, err := sub.ReceiveMessage(ctx)
		if err != nil {
			_ = sleepUntil(ctx, time.Now().Add(listenPause))
			continue
		}
		what, of, _ := strings.Cut(message.Payload, " ")
		for _, w := range p.workers {
			switch {
			case what == "wake" && of == p.cfg.Pipeline:
				nudge(w.wake)
			case what == "stop" && w.runsSession(of):
				nudge(w.beat)
			}
		}
	}
}
