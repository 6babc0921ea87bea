package workers

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/internal/tracing"
	"telefuser/workers/engine"
	"telefuser/workers/media"
)

// Config shapes one worker process.
type Config struct {
	// Pipeline is the pipeline whose jobs are taken. Required.
	Pipeline string
	// Owner names this process in records and leases; it must be unique among all workers. Required.
	Owner string
	// Version is the program's, shown to operators; may be empty.
	Version string
	// Engines holds one entry for each engine, and so for each job that runs at once. Required.
	Engines []engine.Config
	// TempDir takes one private folder for each attempt. Required; it is made if it is missing.
	TempDir string
	// Grace is how long running jobs may go on after the context of Run has ended. Default 30 seconds.
	Grace time.Duration
	// IdleExit ends Run with nil after this long without a job; 0 means never. JobsMax ends it after so many jobs; 0 means no bound.
	IdleExit time.Duration
	JobsMax  int
	// RunTimeout bounds one attempt from the moment its engine is loaded to its last frame. Default 1 hour.
	RunTimeout time.Duration
	// FinishTimeout bounds what follows the last frame: the end of the encoding, joining and drawing pictures. Default 10 minutes.
	FinishTimeout time.Duration
	// UploadBudget is how long an artifact is kept while the store is unavailable, before its job is handed back. Default 15 minutes.
	UploadBudget time.Duration
	// FFmpeg encodes; the zero value finds ffmpeg on PATH.
	FFmpeg media.FFmpeg
	// DieAt, for fault tests, names a Point at which the process kills itself, once. Empty in real life.
	DieAt Point
	// Hooks are called at the named points. Tests set them.
	Hooks Hooks
	// Tracer makes spans of attempts; nil makes none.
	Tracer *tracing.Tracer
	// Metrics takes the collectors. Required.
	Metrics prometheus.Registerer
	// Log is required. Prompts never go there.
	Log *slog.Logger
}

// enginesMax bounds the engines of one process.
const enginesMax = 64

func (c Config) withDefaults() Config {
	if c.Grace == 0 {
		c.Grace = 30 * time.Second
	}
	if c.RunTimeout == 0 {
		c.RunTimeout = time.Hour
	}
	if c.FinishTimeout == 0 {
		c.FinishTimeout = 10 * time.Minute
	}
	if c.UploadBudget == 0 {
		c.UploadBudget = 15 * time.Minute
	}
	return c
}

// Validate says what is wrong with the configuration.
func (c Config) Validate() error {
	switch {
	case c.Pipeline == "":
		return errors.New("workers: no pipeline")
	case c.Owner == "":
		return errors.New("workers: no owner")
	case len(c.Engines) == 0 || len(c.Engines) > enginesMax:
		return fmt.Errorf("workers: %d engines: 1 to %d are possible", len(c.Engines), enginesMax)
	case c.TempDir == "":
		return errors.New("workers: no directory for temporary files")
	case c.Metrics == nil || c.Log == nil:
		return errors.New("workers: no metrics or no logger")
	case c.DieAt != "" && !c.DieAt.known():
		return fmt.Errorf("workers: unknown point %q to die at", c.DieAt)
	}
	return nil
}
