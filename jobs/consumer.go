package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

// ConsumerConfig says what a consumer takes and how many at once. A zero value takes the default in its comment.
type ConsumerConfig struct {
	// Pipeline is the one whose jobs are taken.
	Pipeline string
	// Owner names the worker in records and logs, unique among all live workers.
	Owner string
	// Slots is the number of runs at once: 1.
	Slots int
	// DrainTimeout is how long running jobs may go on after the context of Run ended: 30 s; negative: not at all.
	DrainTimeout time.Duration
	// StopTimeout is how long a run may take to return once it was told to stop: 10 s.
	StopTimeout time.Duration
	// TicketCheckInterval is the pause between two looks at an empty queue: 10 ms.
	TicketCheckInterval time.Duration
	// LookInterval is the pause between two looks of an idle slot at the records themselves, for jobs whose ticket does not come: 1 s.
	LookInterval time.Duration
}

func (c ConsumerConfig) withDefaults() ConsumerConfig {
	if c.Slots == 0 {
		c.Slots = 1
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 30 * time.Second
	}
	if c.StopTimeout == 0 {
		c.StopTimeout = 10 * time.Second
	}
	if c.TicketCheckInterval == 0 {
		c.TicketCheckInterval = 10 * time.Millisecond
	}
	if c.LookInterval == 0 {
		c.LookInterval = time.Second
	}
	return c
}

// Validate names the field at fault.
func (c ConsumerConfig) Validate() error {
	switch {
	case !validPipeline(c.Pipeline):
		return fmt.Errorf("jobs: consumer: Pipeline: %w", ErrInvalid)
	case c.Owner == "" || len(c.Owner) > 256:
		return fmt.Errorf("jobs: consumer: Owner must be 1 to 256 bytes: %w", ErrInvalid)
	case c.Slots < 0 || c.Slots > 1024:
		return fmt.Errorf("jobs: consumer: Slots must be 1 to 1024: %w", ErrInvalid)
	case c.StopTimeout < 0 || c.TicketCheckInterval < 0 || c.LookInterval < 0:
		return fmt.Errorf("jobs: consumer: StopTimeout, TicketCheckInterval and LookInterval must not be negative: %w", ErrInvalid)
	}
	return nil
}

// RunFunc does one attempt. It settles the claim with exactly one of Complete, Fail and Requeue, on a context that outlives its own, and then returns. Its slot is taken until it
// returns, so a worker that mends its engine first just returns later. It stops soon after ctx ends; context.Cause says why: ErrCancelled, ErrLeaseLost, ErrDraining, or
// what Claim.Stop was given. An attempt that is not settled on return is handed back: uncharged when draining, else as a crash.
type RunFunc func(ctx context.Context, claim *Claim)

// Consumer takes jobs of one pipeline, tenants in turn, and runs them. Its Run is called once.
type Consumer struct {
	store *Store
	cfg   ConsumerConfig
	run   RunFunc
	log   *slog.Logger
	stops *hub

	// slots holds a token for every run. The queue's own concurrency is no lock: it frees its place when a message's lease is lost, while the run goes on.
	slots chan struct{}
	// kick asks for a pulse now; one is enough however many ask.
	kick chan struct{}

	mu     sync.Mutex
	claims map[*Claim]struct{}
	// stopping is set when runs are told to stop; one that begins after that is told at once.
	stopping bool
}

// NewConsumer makes a consumer that calls run for every claimed attempt, Slots of them at once.
func (s *Store) NewConsumer(cfg ConsumerConfig, run RunFunc) (*Consumer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	return &Consumer{
		store: s, cfg: cfg, run: run, log: s.log.With("owner", cfg.Owner, "pipeline", cfg.Pipeline),
		stops:  newHub(s.rdb, s.cfg.Prefix+":stop", s.cfg.RenewEvery, s.log),
		slots:  make(chan struct{}, cfg.Slots),
		kick:   make(chan struct{}, 1),
		claims: map[*Claim]struct{}{},
	}, nil
}

// Busy is the number of slots in use.
func (c *Consumer) Busy() int { return len(c.slots) }

// Run takes and runs jobs until ctx ends; then it takes no more, lets running ones finish for DrainTimeout, stops and hands back the rest, and returns when all have returned. ErrStuck
// says that one did not within StopTimeout; its job was handed back, but it may still hold its device, so the process should end.
func (c *Consumer) Run(ctx context.Context) error {
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	defer background.Wait()
	defer c.stops.close()
	defer stop()
	background.Go(func() { c.pulses(base) })

	server := c.store.tickets.server(c.cfg, c.log)
	handler := asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error { return c.handle(base, task) })
	if err := server.Start(handler); err != nil {
		return fmt.Errorf("jobs: consume: %w: %v", ErrUnavailable, err) // foreign errors end here on purpose
	}
	background.Go(func() { c.looks(ctx, base) })
	<-ctx.Done()
	server.Stop()
	err := c.drain(base)
	server.Shutdown()
	return err
}

// drain waits for the runs: first in peace, then after telling them to stop. It holds every slot at the end, so nothing new can start.
func (c *Consumer) drain(base context.Context) error {
	held := 0
	hold := func(timeout time.Duration) bool {
		timer := time.NewTimer(max(timeout, 0))
		defer timer.Stop()
		for ; held < c.cfg.Slots; held++ {
			select {
			case c.slots <- struct{}{}:
			case <-timer.C:
				return false
			}
		}
		return true
	}
	if hold(c.cfg.DrainTimeout) {
		return nil
	}
	c.stopAll()
	if hold(c.cfg.StopTimeout) {
		return nil
	}
	for _, claim := range c.running() {
		c.log.ErrorContext(base, "run did not stop", "job_id", claim.ID, "attempt", claim.Attempt)
		c.handBack(base, claim, CauseDraining)
	}
	return fmt.Errorf("jobs: consume: %d runs: %w", c.cfg.Slots-held, ErrStuck)
}

// handle is the queue's handler: one ticket. It answers nil for everything that is decided, since the queue's retries mean nothing to the job.
func (c *Consumer) handle(base context.Context, task *asynq.Task) error {
	if task.Type() != ticketType {
		c.store.metrics.tickets.WithLabelValues("unknown_type").Inc()
		return errNewer
	}
	id, attempt, err := parseTicket(task.Payload())
	if err != nil {
		c.store.metrics.tickets.WithLabelValues("undecodable").Inc()
		c.log.ErrorContext(base, "ticket dropped", "error", err)
		return nil
	}
	select {
	case c.slots <- struct{}{}:
	default:
		c.store.metrics.tickets.WithLabelValues("busy").Inc()
		return errBusy
	}
	defer func() { <-c.slots }()
	claim, err := c.claim(base, id, attempt)
	switch {
	case errors.Is(err, ErrStale):
		c.store.metrics.tickets.WithLabelValues("stale").Inc()
		return nil
	case errors.Is(err, errNewer):
		c.store.metrics.tickets.WithLabelValues("newer").Inc()
		c.log.WarnContext(base, "jobs are of a newer version; left for a newer worker", "job_id", id)
		return errNewer
	case err != nil:
		c.store.metrics.tickets.WithLabelValues("error").Inc()
		c.log.ErrorContext(base, "claim", "ticket", id, "error", err)
		return errBusy
	}
	c.store.metrics.tickets.WithLabelValues("claimed").Inc()
	c.work(base, claim)
	return nil
}

// looks lets idle slots take jobs without a ticket: one that was lost, one that a full Redis does not let the queue deliver, or one whose tenant has just come below its limit of
// running jobs. It ends with ctx; what it began is held by its slots.
func (c *Consumer) looks(ctx, base context.Context) {
	ticker := time.NewTicker(c.cfg.LookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for ctx.Err() == nil && c.look(base) {
		}
	}
}

// look takes one job, if a slot is free and a job may begin.
func (c *Consumer) look(base context.Context) bool {
	select {
	case c.slots <- struct{}{}:
	default:
		return false
	}
	claim, err := c.claim(base, "", 0)
	if err != nil {
		<-c.slots
		if !errors.Is(err, ErrStale) && !errors.Is(err, errNewer) {
			c.log.WarnContext(base, "look for a job", "error", err)
		}
		return false
	}
	c.store.metrics.unticketed.Inc()
	go func() {
		defer func() { <-c.slots }()
		c.work(base, claim)
	}()
	return true
}

// claim begins the job whose turn it is; id and attempt are those of the ticket that woke us up, if one did. It repeats a call that Redis did not answer, under one nonce, since the
// attempt may have begun.
func (c *Consumer) claim(base context.Context, id string, attempt int) (*Claim, error) {
	ctx, cancel := context.WithTimeout(base, c.store.cfg.LeaseTTL/2)
	defer cancel()
	nonce := newID("", time.Now())[10:]
	var answer []any
	for {
		var err error
		answer, err = c.store.evalList(ctx, "claim", id, attempt, c.cfg.Owner, ms(c.store.cfg.LeaseTTL), SchemaVersion, c.cfg.Pipeline, nonce)
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(commitPauseMin):
		}
	}
	switch word(answer, 0) {
	case "stale":
		return nil, fmt.Errorf("jobs: claim: nothing may begin: %w", ErrStale)
	case "newer":
		return nil, fmt.Errorf("jobs: claim: %w", errNewer)
	}
	id = word(answer, 1)
	job, err := decodeJob(id, fields(answer, 2))
	if err != nil {
		return nil, c.refuse(base, id, fields(answer, 2)["a"], err)
	}
	return &Claim{ID: id, Attempt: job.Attempt, Job: job, store: c.store}, nil
}

// refuse ends a job whose record is damaged: no worker could run it.
func (c *Consumer) refuse(ctx context.Context, id, began string, damage error) error {
	attempt, err := strconv.Atoi(began)
	if err != nil {
		return errors.Join(damage, err) // not even that can be read; the lease will run out
	}
	claim := &Claim{ID: id, Attempt: attempt, store: c.store, Job: Job{Spec: Spec{Pipeline: c.cfg.Pipeline}}}
	return errors.Join(damage, claim.Fail(ctx, Failure{CodeInternal, "The job could not be read."}))
}

// work runs a claim and sees that it is settled.
func (c *Consumer) work(base context.Context, claim *Claim) {
	ctx, cancel := context.WithCancelCause(base)
	claim.cancel = cancel
	c.add(claim)
	watch := c.stops.add(claim.ID) //nolint:contextcheck // the listener serves every watcher and ends with the last
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		c.relay(ctx, watch)
	}()
	defer func() {
		if x := recover(); x != nil {
			c.log.ErrorContext(base, "run panicked", "job_id", claim.ID, "attempt", claim.Attempt, "panic", x, "stack", string(debug.Stack()))
			c.handBack(base, claim, CauseCrash)
		}
		c.forget(claim)
		cancel(nil)
		c.stops.remove(watch)
		<-relayed
	}()
	c.run(ctx, claim)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrCancelled), errors.Is(cause, ErrLeaseLost):
	case errors.Is(cause, ErrDraining):
		c.handBack(base, claim, CauseDraining)
	default:
		c.handBack(base, claim, CauseCrash)
	}
}

// relay turns a stop message for a run into a pulse, which asks the record what it is about.
func (c *Consumer) relay(ctx context.Context, watch *watcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-watch.nudge:
			select {
			case c.kick <- struct{}{}:
			default:
			}
		}
	}
}

// handBack requeues an attempt that its run left unsettled.
func (c *Consumer) handBack(base context.Context, claim *Claim, cause Cause) {
	claim.mu.Lock()
	settled := claim.settling
	claim.mu.Unlock()
	if settled {
		return
	}
	if _, err := claim.Requeue(base, cause); err != nil && !errors.Is(err, ErrStale) {
		c.log.WarnContext(base, "attempt not handed back; its lease will run out", "job_id", claim.ID, "attempt", claim.Attempt, "error", err)
	}
}

func (c *Consumer) add(claim *Claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims[claim] = struct{}{}
	if c.stopping {
		claim.cancel(ErrDraining)
	}
}

// stopAll tells all runs to stop, those included whose claim was under way and that are about to begin.
func (c *Consumer) stopAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	for claim := range c.claims {
		claim.cancel(ErrDraining)
	}
}

func (c *Consumer) forget(claim *Claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.claims, claim)
}

func (c *Consumer) running() []*Claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*Claim, 0, len(c.claims))
	for claim := range c.claims {
		out = append(out, claim)
	}
	return out
}
