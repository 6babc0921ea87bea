package streaming

import (
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// Store is the record of sessions and the registry of workers: the only reader and writer of their keys. It is safe for concurrent use and keeps no state of
// sessions in the process.
type Store struct {
	cfg     Config
	rdb     redis.UniversalClient
	log     *slog.Logger
	scripts map[string]*redis.Script
	metrics *storeMetrics
}

// New makes a store over a pool of connections. It does not talk to Redis, so it works while Redis is still down.
func New(cfg Config, rdb redis.UniversalClient, log *slog.Logger) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if rdb == nil || log == nil {
		return nil, fmt.Errorf("streaming: a store needs a pool and a logger: %w", ErrInvalid)
	}
	scripts, err := loadScripts()
	if err != nil {
		return nil, err
	}
	return &Store{cfg: cfg.withDefaults(), rdb: rdb, log: log, scripts: scripts, metrics: newStoreMetrics()}, nil
}

// Config is the configuration in effect, defaults filled in.
func (s *Store) Config() Config { return s.cfg }
