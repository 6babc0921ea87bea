package jobs

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// callTimeout bounds one call with all its tries. A Redis that is frozen lets every try run into its own time-outs, of connecting and of reading,
// and a request that waits for all of them waits for nothing.
const callTimeout = 3 * time.Second

// callLimit holds every call of a pool to callTimeout. Whoever can wait longer calls again.
type callLimit struct{ timeout time.Duration }

// DialHook changes nothing: dialling is part of a call.
func (l callLimit) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook limits a single command.
func (l callLimit) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, l.timeout)
		defer cancel()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook limits commands that are sent together.
func (l callLimit) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, l.timeout)
		defer cancel()
		return next(ctx, cmds)
	}
}
