package jobs

import (
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
	scripts *scripts
	tickets *tickets
	changes *hub
	// deliveries nudges the senders of webhooks.
	deliveries *hub
	keys       *keyCache
	limiter    *rateLimiter
	memory     memoryGauge
	epoch      epochWatch
	metrics    *counters
	seals      *sealer
	ids        IDs

	// acks are outbox entries whose tickets are out; the next Create removes them in passing.
	ackMu sync.Mutex
	acks  []string

	// afterRecord, when a test sets it, runs between the record and its ticket; an error there stands for a process that died.
	afterRecord func() error
}

// New makes a store over a pool. It does not talk to Redis, so it works while Redis is still down.
func New(cfg Config, rdb Client, log *slog.Logger) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if rdb == nil || log == nil {
		return nil, fmt.Errorf("jobs: a store needs a pool and a logger: %w", ErrInvalid)
	}
	sc, err := loadScripts()
	if err != nil {
		return nil, err
	}
	seals, err := newSealer(cfg.SecretKeys)
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	metrics := newCounters()
	return &Store{
		cfg: cfg, rdb: rdb, log: log, scripts: sc,
		tickets: newTickets(cfg.Prefix, rdb),
		changes: newHub(rdb, cfg.Prefix+":changed", pollEvery, log), deliveries: newHub(rdb, cfg.Prefix+":hwake", deliveriesPollEvery, log),
		keys:    newKeyCache(cfg.KeyCacheTTL, time.Now),
		limiter: newRateLimiter(cfg, rdb),
		metrics: metrics,
		seals:   seals,
	}, nil
}

// Close ends what Subscribe started and waits for it. The pool stays open: it belongs to the caller.
func (s *Store) Close() error {
	s.changes.close()
	s.deliveries.close()
	return nil
}

// Config is the configuration in effect, defaults filled in.
func (s *Store) Config() Config { return s.cfg }
