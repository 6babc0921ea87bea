package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"telefuser/internal/outbound"
	"telefuser/jobs"
)

// Queue is what the sender uses of jobs.Store: what there is to send.
type Queue interface {
	TakeDeliveries(ctx context.Context, limit int, lease time.Duration) ([]jobs.DeliveryClaim, error)
	SettleDelivery(ctx context.Context, claim jobs.DeliveryClaim, r jobs.Settlement) error
	SweepDeliveries(ctx context.Context) (more bool, err error)
	SubscribeDeliveries(ctx context.Context) (changes <-chan struct{}, cancel func())
	OldestDelivery(ctx context.Context) (time.Duration, error)
}

// Caller is the guarded way out.
type Caller interface {
	Post(ctx context.Context, m outbound.Message) (outbound.Answer, error)
	CheckURL(ctx context.Context, text string, schemes []string) error
}

// Sender sends what is due. Any number of them, in any number of processes, share the work.
type Sender struct {
	cfg     Config
	queue   Queue
	caller  Caller
	log     *slog.Logger
	metrics *metrics

	// slots has a token for every delivery under way; freed nudges the loop when one has ended, since that may make another due.
	slots   chan struct{}
	freed   chan struct{}
	flights sync.WaitGroup
	down    bool
}

// NewSender makes a sender.
func NewSender(cfg Config, queue Queue, caller Caller) (*Sender, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &Sender{cfg: cfg, queue: queue, caller: caller, log: cfg.Log, slots: make(chan struct{}, cfg.Slots), freed: make(chan struct{}, 1)}
	var err error
	s.metrics, err = newMetrics(cfg.Metrics, queue)
	return s, err
}

// Run sends until ctx ends, and then waits for what is under way, for Grace.
func (s *Sender) Run(ctx context.Context) error {
	changes, cancel := s.queue.SubscribeDeliveries(ctx)
	defer cancel()
	flying, land := context.WithCancel(context.WithoutCancel(ctx))
	defer land()
	sweep := time.NewTicker(s.cfg.SweepEvery)
	defer sweep.Stop()
	for {
		s.round(ctx, flying)
		select {
		case <-ctx.Done():
			grace := time.AfterFunc(s.cfg.Grace, land)
			s.flights.Wait()
			grace.Stop()
			return nil
		case <-changes:
		case <-s.freed:
		case <-sweep.C:
			s.sweep(ctx)
		}
	}
}

// round starts what is due, as far as there are slots.
func (s *Sender) round(ctx, flying context.Context) {
	for ctx.Err() == nil {
		free := cap(s.slots) - len(s.slots)
		if free == 0 {
			return
		}
		claims, err := s.queue.TakeDeliveries(ctx, free, s.cfg.Lease)
		s.report(ctx, err)
		if err != nil {
			return
		}
		for _, claim := range claims {
			s.slots <- struct{}{}
			s.flights.Go(func() {
				defer func() {
					<-s.slots
					select {
					case s.freed <- struct{}{}:
					default:
					}
				}()
				s.deliver(flying, claim)
			})
		}
		if len(claims) < free {
			return
		}
	}
}

// report says once that Redis is away, and once that it is back.
func (s *Sender) report(ctx context.Context, err error) {
	switch {
	case err != nil && ctx.Err() == nil && !s.down:
		s.down = true
		s.log.WarnContext(ctx, "webhooks wait", "error", err)
	case err == nil && s.down:
		s.down = false
		s.log.InfoContext(ctx, "webhooks go on")
	}
}

// sweep ends what endpoints that are gone still had to send.
func (s *Sender) sweep(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = s.queue.SweepDeliveries(ctx); err != nil {
			s.report(ctx, err)
			return
		}
	}
}

// deliver makes one attempt and settles it. An attempt that was cut off, or whose secret this process cannot open, is not settled: its lease ends, and somebody makes it again.
func (s *Sender) deliver(ctx context.Context, claim jobs.DeliveryClaim) {
	if len(claim.Secrets) == 0 { // sealed: another process may have the key
		s.metrics.attempts.WithLabelValues("sealed").Inc()
		return
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Lease)
	defer cancel()
	m, err := message(claim.Delivery, claim.URL, s.cfg.schemes(), claim.Secrets, begun)
	var answer outbound.Answer
	if err == nil {
		answer, err = s.caller.Post(ctx, m)
	}
	if ctx.Err() != nil {
		s.metrics.attempts.WithLabelValues("cut_off").Inc()
		return
	}
	r := s.cfg.judge(claim.Attempts+1, answer, err, time.Now())
	s.metrics.seconds.Observe(time.Since(begun).Seconds())
	s.metrics.attempts.WithLabelValues(resultOf(r)).Inc()
	s.tell(ctx, claim, r)
	s.settle(ctx, claim, r)
}

// settlePause is between two tries to write what came of an attempt.
const settlePause = 250 * time.Millisecond

// settle writes until Redis has answered, for as long as the lease lasts.
func (s *Sender) settle(ctx context.Context, claim jobs.DeliveryClaim, r jobs.Settlement) {
	for {
		err := s.queue.SettleDelivery(ctx, claim, r)
		if err == nil || errors.Is(err, jobs.ErrStale) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settlePause):
		}
	}
}

// tell writes a line about an attempt that failed. The address stays out of it, for it may hold a secret of the receiver's.
func (s *Sender) tell(ctx context.Context, claim jobs.DeliveryClaim, r jobs.Settlement) {
	if r.Delivered {
		return
	}
	level := slog.LevelInfo
	if r.Failed || r.Disable {
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, "webhook not delivered", "webhook_id", claim.WebhookID, "event_id", claim.EventID, "attempt", claim.Attempts+1, "status", r.Status,
		"reason", r.Reason, "result", resultOf(r))
}

// resultOf is a settlement in one word.
func resultOf(r jobs.Settlement) string {
	switch {
	case r.Delivered:
		return "delivered"
	case r.Disable:
		return "disabled"
	case r.Failed:
		return "failed"
	}
	return "retried"
}
