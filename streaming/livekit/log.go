package livekit

import (
	"context"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
	"github.com/livekit/protocol/logger"
)

// libraryLogger hands on what the media server's library logs, which is much.
func libraryLogger(l *slog.Logger) logger.Logger {
	return logger.LogRLogger(logr.FromSlogHandler(quiet{l.With("library", "livekit").Handler()}))
}

// quietLibrary is done once: the library below the library has one logger for the whole process, and would write to standard error.
var quietLibrary sync.Once //nolint:gochecknoglobals // it guards a global of the library's

// quiet makes every record a debug record: what the library calls an error is an answer that this room returns.
type quiet struct{ slog.Handler }

// Enabled looks at the level that the record will have.
func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle lowers the level.
func (q quiet) Handle(ctx context.Context, r slog.Record) error { //nolint:gocritic // the interface passes records by value
	r.Level = slog.LevelDebug
	return q.Handler.Handle(ctx, r)
}

// WithAttrs keeps the level low.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup keeps the level low.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
