package workers

import (
	"context"
	"log/slog"
	"time"

	"telefuser/jobs"
	"telefuser/storage"
)

// Janitor removes objects that no record needs any more.
type Janitor struct{}

// JanitorConfig shapes a janitor.
type JanitorConfig struct {
	// Every is the pause between two rounds when there is nothing to do. Default 1 second.
	Every time.Duration
	// SweepEvery is the pause between two sweeps of the store's own leftovers. Default 10 minutes.
	SweepEvery time.Duration
	// Log is required.
	Log *slog.Logger
}

// NewJanitor prepares a janitor. Any number of them may run at once.
func NewJanitor(cfg JanitorConfig, records *jobs.Store, objects storage.Store) (*Janitor, error) {
	panic("later")
}

// Run works until ctx ends.
func (j *Janitor) Run(ctx context.Context) error { panic("later") }
