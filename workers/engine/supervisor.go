package engine

import (
	"context"

	"telefuser/workers/contract"
	"telefuser/workers/pipeline"
)

// Supervisor keeps one engine process alive and hands out its sessions.
type Supervisor struct {
	cfg Config
}

// Description is what an engine says of itself.
type Description struct {
	Contract contract.Contract
	Runtime  string
	// Device is empty when unknown.
	Device string
	// LoadNS is how long spawn, load and warm-up took, in nanoseconds.
	LoadNS int64
}

// NewSupervisor checks the configuration. Nothing is started before Run.
func NewSupervisor(cfg Config) (*Supervisor, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Supervisor{cfg: cfg}, nil
}

// Run keeps an engine loaded until ctx ends, and answers nil when the last process is gone then. It gives up with ErrInvalid when the
// engine says that it cannot run like this at all, with ErrDeviceLost when its device was lost twice in a row, and with ErrDeviceTaken.
func (s *Supervisor) Run(ctx context.Context) error { panic("later") }

// Ready waits until an engine is loaded and describes it. It fails with ctx's cause, or with what ended Run.
func (s *Supervisor) Ready(ctx context.Context) (Description, error) { panic("later") }

// Open starts a session on the engine, waiting for one to be loaded. Every opened session must be closed.
func (s *Supervisor) Open(ctx context.Context, req pipeline.Request) (*Session, error) {
	panic("later")
}

// Session is one run on an engine. Next and Close are called by one goroutine; Control by any.
type Session struct{}

// Next takes the next chunk, and io.EOF after the last. When ctx ends it answers ctx's cause at once.
func (s *Session) Next(ctx context.Context) (pipeline.Chunk, error) { panic("later") }

// Control feeds a live session.
func (s *Session) Control(ctx context.Context, c pipeline.Control) error { panic("later") }

// Close ends the session and answers when the device is free of it: the pipeline let go within CloseGrace, or its process is gone.
func (s *Session) Close() error { panic("later") }

// PeakMemoryBytes is the most host memory that the engine has held during the session; nil when unknown.
func (s *Session) PeakMemoryBytes() *int64 { panic("later") }
