package streaming

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// Store is the record of sessions and the registry of workers: the only reader and writer of their keys. It is safe for concurrent use.
type Store struct {
	cfg Config
	rdb redis.UniversalClient
	log *slog.Logger
}

// New makes a store over a pool of connections. It does not talk to Redis, so it works while Redis is still down.
func New(cfg Config, rdb redis.UniversalClient, log *slog.Logger) (*Store, error) {
	panic("soon")
}

// Collector shows the store's metrics: its counters, and gauges of the registry that are read at most once a second.
func (s *Store) Collector() prometheus.Collector { panic("soon") }
