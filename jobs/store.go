package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Store is the job record: the only reader and writer of its keys. It is safe for concurrent use and keeps no state of jobs in the process.
type Store struct {
	cfg     Config
	rdb     Client
	log     *slog.Logger
	tickets *tickets
	changes *hub
	keys    *keyCache
	memory  memoryGauge
	metrics *counters
	epoch   epochWatch
	limiter limiter

	ackMu sync.Mutex
	acks  []string

	// afterRecord runs between the record and its ticket; tests cut there.
	afterRecord func() error
	// mono is the monotonic clock of the reaper; tests drive it.
	mono func() time.Time
}

// New makes a store over a pool. It does not talk to Redis, so it works while Redis is still down.
func New(cfg Config, rdb Client, log *slog.Logger) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if rdb == nil || log == nil {
		return nil, fmt.Errorf("jobs: a store needs a pool and a logger: %w", ErrInvalid)
	}
	cfg = cfg.withDefaults()
	s := &Store{cfg: cfg, rdb: rdb, log: log, metrics: newCounters(), mono: time.Now}
	s.tickets = newTickets(cfg.Prefix, rdb)
	s.changes = newHub(rdb, cfg.Prefix+":changed", log)
	s.keys = newKeyCache(cfg.KeyCacheTTL)
	s.limiter = newLimiter(cfg, rdb)
	return s, nil
}

// Close ends what Subscribe started and waits for it. The pool stays open: it belongs to the caller.
func (s *Store) Close() error {
	s.changes.close()
	return nil
}

// Config is the configuration in effect, defaults filled in.
func (s *Store) Config() Config { return s.cfg }

// eval runs a script with the prefix as its only key.
func (s *Store) eval(ctx context.Context, sc *script, args ...any) (any, error) {
	return sc.run(ctx, s.rdb, s.cfg.Prefix, args...)
}
