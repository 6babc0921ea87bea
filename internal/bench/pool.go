package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Pool is a fixed number of connections to one target, kept over runs so that a warm-up warms them.
type Pool struct {
	conns []*conn
}

// DefaultTimeout bounds one request.
const DefaultTimeout = 30 * time.Second

// connectionsMax bounds a pool: more would measure the client's scheduler.
const connectionsMax = 4096

// NewPool makes a pool; connections open when they are needed. A zero timeout means DefaultTimeout.
func NewPool(t Target, connections int, timeout time.Duration) (*Pool, error) {
	addr, err := t.address()
	if err != nil {
		return nil, err
	}
	if connections < 1 || connections > connectionsMax {
		return nil, fmt.Errorf("%w: %d connections, want 1 to %d", ErrPlan, connections, connectionsMax)
	}
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	p := &Pool{}
	for range connections {
		p.conns = append(p.conns, &conn{addr: addr, timeout: timeout})
	}
	return p, nil
}

// Close closes every connection. No run may be under way.
func (p *Pool) Close() {
	for _, c := range p.conns {
		c.close()
	}
}

// Run sends the plan's requests, each at its time or, where every connection is busy then, as soon as one is free. It returns when all have been
// answered, given up or dropped. It is one run at a time. A context that ends makes it fail with the context's cause.
func (p *Pool) Run(ctx context.Context, plan Plan, source Source) (Result, error) {
	if err := plan.Validate(); err != nil {
		return Result{}, err
	}
	var next atomic.Int64
	start := time.Now()
	senders := make([]*sender, len(p.conns))
	var group sync.WaitGroup
	for i, c := range p.conns {
		senders[i] = newSender(c, plan, source, start, &next, len(p.conns))
		group.Go(func() { senders[i].run(ctx) })
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return Result{}, fmt.Errorf("bench: run: %w", err)
	}
	return newResult(plan, source, senders), nil
}

// sender sends the requests of one connection.
type sender struct {
	conn   *conn
	plan   Plan
	source Source
	start  time.Time
	next   *atomic.Int64

	samples []sample
	errors  map[string]int
	dropped []int
}

// sample is one request that was sent. Times are from the start of the run.
type sample struct {
	// free is when its sender could have sent it: at the intended moment or when the one before was done.
	intended, free, sent, done time.Duration
	kind                       int
	ok                         bool
}

func newSender(c *conn, plan Plan, source Source, start time.Time, next *atomic.Int64, senders int) *sender {
	// Twice the even share, so that growing is rare in the middle of the run.
	room := 2 * plan.Arrivals() / senders
	return &sender{
		conn: c, plan: plan, source: source, start: start, next: next,
		samples: make([]sample, 0, room), errors: map[string]int{}, dropped: make([]int, len(source.Kinds)),
	}
}

func (s *sender) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var buf []byte
	total, last := s.plan.Arrivals(), s.plan.Duration+s.plan.drainMax()
	for ctx.Err() == nil {
		i := int(s.next.Add(1)) - 1
		if i >= total {
			return
		}
		intended := s.plan.Intended(i)
		free := max(intended, time.Since(s.start))
		if !s.wait(ctx, timer, intended) {
			return
		}
		kind, request := s.source.request(i, buf[:0])
		buf = request
		if free > last {
			s.dropped[kind]++
			continue
		}
		s.send(ctx, request, sample{intended: intended, free: free, kind: kind})
	}
}

// wait sleeps until the moment; false means that the context ended.
func (s *sender) wait(ctx context.Context, timer *time.Timer, moment time.Duration) bool {
	left := moment - time.Since(s.start)
	if left <= 0 {
		return true
	}
	timer.Reset(left)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *sender) send(ctx context.Context, request []byte, at sample) {
	at.sent = time.Since(s.start)
	status, _, err := s.conn.do(ctx, request)
	at.done = time.Since(s.start)
	at.ok = err == nil && status >= 200 && status < 300
	if !at.ok {
		s.errors[classify(status, err)]++
	}
	s.samples = append(s.samples, at)
}
