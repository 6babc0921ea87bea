package livekit

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/livekit/protocol/logger"
	"go.uber.org/zap"
)

// libraryLogger hands on what the media server's library logs, which is much.
func libraryLogger(l *slog.Logger) logger.Logger {
	return logger.LogRLogger(logr.FromSlogHandler(quiet{l.With("library", "livekit").Handler()}))
}

// pionLogger is for the library below the library, which has one logger in a process and says something of every packet: unless it is heard it is told so before
// it puts the words together. That takes a logger of zap's kind.
func pionLogger(l *slog.Logger) logger.Logger {
	if logr.FromSlogHandler(l.Handler()).V(-int(slog.LevelDebug)).Enabled() {
		return libraryLogger(l)
	}
	deaf, err := logger.FromZapLogger(zap.NewNop(), &logger.Config{Level: "fatal"})
	if err != nil {
		return libraryLogger(l)
	}
	return deaf
}

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
