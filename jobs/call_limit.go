package jobs

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// callTimeout bounds one call with all its tries. A Redis that is frozen lets every try run into its own time-outs, of connecting and of reading,
// and a request that waits for all of them waits for nothing.
const callTimeout = 3 * time.Second

// patience is how long the calls of one request may still wait for Redis.
type patience struct {
	mu   sync.Mutex
	left time.Duration
}

type patienceKey struct{}

// WithPatience bounds what all calls made with the context wait for Redis, together, to 3 s: a request makes several, and where each is slow it would wait
// that long for each. What is over comes back as ErrUnavailable.
func WithPatience(ctx context.Context) context.Context {
	return context.WithValue(ctx, patienceKey{}, &patience{left: callTimeout})
}

// limit bounds one call by its own time and by what is left of its request's; done takes off what it took.
func (l callLimit) limit(ctx context.Context) (limited context.Context, done func()) {
	timeout := l.timeout
	p, some := ctx.Value(patienceKey{}).(*patience)
	if some {
		p.mu.Lock()
		timeout = min(timeout, p.left)
		p.mu.Unlock()
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	if !some {
		return limited, cancel
	}
	started := time.Now()
	return limited, func() {
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.left -= time.Since(started)
	}
}

// callLimit holds every call of a pool to callTimeout. Whoever can wait longer calls again.
type callLimit struct{ timeout time.Duration }

// DialHook changes nothing: dialling is part of a call.
func (l callLimit) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook limits a single command.
func (l callLimit) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx, done := l.limit(ctx)
		defer done()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook limits commands that are sent together.
func (l callLimit) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, done := l.limit(ctx)
		defer done()
		return next(ctx, cmds)
	}
}
