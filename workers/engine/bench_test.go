package engine_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"testing"

	"telefuser/workers/engine"
	"telefuser/workers/media"
)

// BenchmarkFrames is the way of 832x480 frames from the engine process to the worker, the making of solid frames included.
func BenchmarkFrames(b *testing.B) {
	b.Run("shared", func(b *testing.B) { benchmarkFrames(b, 0) })
	b.Run("sent", func(b *testing.B) { benchmarkFrames(b, -1) })
}

func benchmarkFrames(b *testing.B, memoryBytes int64) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tf") //nolint:usetesting // a short name, for sockets
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := engine.NewSupervisor(engine.Config{
		Command: []string{exe, "engine", "", os.DevNull}, RuntimeDir: dir, Log: slog.New(slog.DiscardHandler), FrameMemoryBytes: memoryBytes,
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	}()
	if _, err := s.Ready(ctx); err != nil {
		b.Fatal(err)
	}
	req := request("")
	req.Width, req.Height, req.Frames = 832, 480, b.N
	b.SetBytes(int64(media.FrameBytes(req.Width, req.Height)))
	b.ResetTimer()
	session, err := s.Open(ctx, req)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	for {
		chunk, err := session.Next(ctx)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range chunk.Frames {
			f.Release()
		}
	}
}
