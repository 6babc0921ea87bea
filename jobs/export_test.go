package jobs

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"
)

// The doors that tests need: cuts, clocks and single steps.

// SetAfterRecord sets what runs between a record and its ticket; an error stands for a process that died there.
func (s *Store) SetAfterRecord(f func() error) { s.afterRecord = f }

// Reaper is one process's reaper, driven by hand.
type Reaper struct{ r *reaper }

// NewReaperAt makes a reaper with a clock of the test's.
func (s *Store) NewReaperAt(now func() time.Time) *Reaper {
	r := s.newReaper()
	r.now = now
	return &Reaper{r}
}

// Round does one round, Resign gives up the lock.

func (r *Reaper) Round(ctx context.Context) error  { return r.r.round(ctx) }
func (r *Reaper) Resign(ctx context.Context) error { return r.r.resign(ctx) }

// Reap takes jobs of a pipeline back, on the strength of the last look.
func (r *Reaper) Reap(ctx context.Context, pipeline string) error { return r.r.reap(ctx, pipeline) }

// Trust makes the reaper forget that it has not seen Redis for long.
func (r *Reaper) Trust(ctx context.Context) error {
	_, err := r.r.look(ctx)
	r.r.quietUntil = time.Time{}
	return err
}

// Claim claims without a consumer, as the ticket of an attempt would. It is an error that it was another job's turn.
func (s *Store) Claim(ctx context.Context, pipeline, owner, id string, attempt int) (*Claim, error) {
	cfg := ConsumerConfig{Pipeline: pipeline, Owner: owner}
	c, err := s.NewConsumer(cfg, nil)
	if err != nil {
		return nil, err
	}
	claim, err := c.claim(ctx, id, attempt)
	if err != nil {
		return nil, err
	}
	if claim.ID != id {
		return nil, fmt.Errorf("it was the turn of %s, not of %s", claim.ID, id)
	}
	_, claim.cancel = context.WithCancelCause(ctx)
	return claim, nil
}

// Next claims the job whose turn it is, without a ticket.
func (s *Store) Next(ctx context.Context, pipeline string) (*Claim, error) {
	c, err := s.NewConsumer(ConsumerConfig{Pipeline: pipeline, Owner: "next"}, nil)
	if err != nil {
		return nil, err
	}
	claim, err := c.claim(ctx, "", 0)
	if err == nil {
		_, claim.cancel = context.WithCancelCause(ctx)
	}
	return claim, err
}

// ClaimUnder makes one call of a claim under a nonce, as a client does that sends it again, and answers what came back.
func (s *Store) ClaimUnder(ctx context.Context, pipeline, nonce string) (outcome, id string, err error) {
	answer, err := s.evalList(ctx, "claim", "", 0, "again", ms(s.cfg.LeaseTTL), SchemaVersion, pipeline, nonce)
	return word(answer, 0), word(answer, 1), err
}

// Pulse renews a claim once, with its progress, and says what the record answered.
func (s *Store) Pulse(ctx context.Context, claim *Claim) (cause error, err error) {
	run, cancel := context.WithCancelCause(ctx)
	claim.cancel = cancel
	c, err := s.NewConsumer(ConsumerConfig{Pipeline: claim.Job.Spec.Pipeline, Owner: "pulse"}, nil)
	if err != nil {
		return nil, err
	}
	c.add(claim)
	err = c.pulse(ctx, true)
	return context.Cause(run), err
}

// DrainBefore ends a consumer between the claim of a ticket and its run, which are a round trip apart, and then runs it. It answers what the end of
// the consumer said.
func (c *Consumer) DrainBefore(ctx context.Context, id string, attempt int) error {
	c.slots <- struct{}{}
	claim, err := c.claim(ctx, id, attempt)
	if err != nil {
		return err
	}
	drained := make(chan error, 1)
	go func() { drained <- c.drain(ctx) }()
	for stopping := false; !stopping; runtime.Gosched() {
		c.mu.Lock()
		stopping = c.stopping
		c.mu.Unlock()
	}
	c.work(ctx, claim)
	<-c.slots
	return <-drained
}

// Key is a key of the store's.
func (s *Store) Key(name string) string { return s.key(name) }

// SendTicket sends a ticket, with a suffix that makes it another message.
func (s *Store) SendTicket(ctx context.Context, pipeline, id string, attempt int, suffix string) error {
	return s.tickets.send(ctx, pipeline, id, attempt, 0, suffix)
}

// Queue is the name of a pipeline's queue in asynq.
func (s *Store) Queue(pipeline string) string { return s.tickets.queue(pipeline) }

// ParseTicket reads a ticket's payload.
func ParseTicket(payload []byte) (string, int, error) { return parseTicket(payload) }

// TicketType is the type of our messages.
const TicketType = ticketType

// Again is the same attempt as if nothing had settled it, and Store its store.
func (c *Claim) Again() *Claim {
	return &Claim{ID: c.ID, Attempt: c.Attempt, Job: c.Job, store: c.store, cancel: func(error) {}}
}
func (c *Claim) Store() *Store { return c.store }

// SetRunningMax limits a tenant's runs, as a create under a limited key does.
func (s *Store) SetRunningMax(ctx context.Context, tenant string, n int) error {
	return s.rdb.HSet(ctx, s.key("running_max"), tenant, n).Err()
}

// Lease is a job's entry among the running ones.
func Lease(id string, until time.Time) redis.Z {
	return redis.Z{Score: float64(until.UnixMilli()), Member: id}
}
