package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"telefuser/internal/config"
)

// TestDataDirIsOneProcesses: a second dev on the same directory ends before it starts anything there.
func TestDataDirIsOneProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	unlock, err := lockDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = dev(context.Background(), config.Config{DataDir: dir}, slog.New(slog.NewTextHandler(io.Discard, nil)), "", func(string) {}, nil)
	if !errors.Is(err, errDataDirInUse) {
		t.Errorf("a second one: %v", err)
	}
	unlock()
	if unlock, err = lockDataDir(dir); err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	unlock()
}
