package streaming

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PoolConfig describes the workers of one process. A zero value takes the default in its comment.
type PoolConfig struct {
	// Owner names the process and its start: host, pid and something random. Worker i is "<Owner>-worker-<i>".
	Owner    string
	Pipeline string
	// SessionsPerWorkerMax is the number of sessions that one engine keeps at a time: 1.
	SessionsPerWorkerMax int
	// Devices names each engine's devices for the registry; may be nil.
	Devices [][]string
	// Grace is how long live sessions go on after a drain began: 30 s. After it they are handed over where their state is kept, else ended as drained.
	Grace time.Duration
	// TimeSlice is how long an active session may use the model while others wait: 2 s.
	TimeSlice time.Duration
	// JoinTimeout bounds one try to enter a room: 10 s. OpenTimeout bounds an engine's Open: 60 s.
	JoinTimeout time.Duration
	OpenTimeout time.Duration
	// RejoinTimeout is how long a session without a media server tries to get back before it ends as media_lost: 15 s.
	RejoinTimeout time.Duration
	// AckTimeout is how long a lossless session waits for its client's delivery_ack after done: 15 s.
	AckTimeout time.Duration
	// ControlsPerSecondMax is the number of control messages obeyed in a second; more are dropped, counted and answered once a second: 120.
	ControlsPerSecondMax int
	// BitrateBitsPerSecond is the target of the encoder: 4,000,000.
	BitrateBitsPerSecond int
}

// Pool runs sessions on engines: it claims one whenever a slot is free.
type Pool struct{}

// NewPool makes the workers of one process, one per engine. It does not start anything.
func NewPool(cfg PoolConfig, store *Store, engines []Engine, rooms Rooms, log *slog.Logger) (*Pool, error) {
	panic("soon")
}

// Run claims and runs sessions until ctx ends; then it takes no more, lets the live ones go on for Grace, and returns when all have ended or were handed over.
func (p *Pool) Run(ctx context.Context) error { panic("soon") }

// Collector shows the pool's metrics.
func (p *Pool) Collector() prometheus.Collector { panic("soon") }
