package engine

import (
	"sync"
	"time"
)

// progress knows the calls into the pipeline that are under way and when each last moved. It never waits for the pipeline.
type progress struct {
	mu    sync.Mutex
	calls map[*call]struct{}
}

// call is one call into the pipeline.
type call struct {
	owner *progress
	last  time.Time
}

// begin notes a call; it must end.
func (p *progress) begin() *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls = map[*call]struct{}{}
	}
	c := &call{owner: p, last: time.Now()}
	p.calls[c] = struct{}{}
	return c
}

// touch notes that the call moves.
func (c *call) touch() {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	c.last = time.Now()
}

func (c *call) end() {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	delete(c.owner.calls, c)
}

// report tells whether a call is under way and the longest time that one has not moved.
func (p *progress) report() (busy bool, since time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.calls {
		since = max(since, time.Since(c.last))
	}
	return len(p.calls) > 0, since
}
