package engine

import (
	"context"
	"log/slog"
	"os"
	"time"

	"telefuser/workers/pipeline"
)

// ServeConfig says how an engine process is run.
type ServeConfig struct {
	// Socket is the path of the Unix socket to listen on. Required.
	Socket string
	// Parent, where set, is read until its end, which is taken as the supervisor's: the process then exits with ExitOrphaned. It is
	// standard input in the engine command.
	Parent *os.File
	// HeartbeatInterval defaults to 250 milliseconds.
	HeartbeatInterval time.Duration
	// Device names the device in words; empty when unknown.
	Device string
	// Log is required. It must write to standard error and never get a prompt.
	Log *slog.Logger
}

// Serve hosts p until ctx ends, Shutdown is called or p fails beyond repair, and closes it. The process must end afterwards, with
// ExitCode of the answer.
func Serve(ctx context.Context, p pipeline.Pipeline, cfg ServeConfig) error { panic("later") }
