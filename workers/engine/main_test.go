package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"telefuser/workers/engine"
	"telefuser/workers/pipeline"
)

// The test binary is also the engine ("engine WORDS COUNTFILE --socket PATH") and a supervisor that can be killed ("supervisor DIR").
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "engine":
			os.Exit(engineMain(os.Args[2:]))
		case "supervisor":
			os.Exit(supervisorMain(os.Args[2]))
		}
	}
	goleak.VerifyTestMain(m)
}

func engineMain(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg := engine.ServeConfig{
		Socket: args[slices.Index(args, "--socket")+1], Parent: os.Stdin, Device: "test device",
		Devices:      testDevices(),
		WatchDevices: watchTrip,
		ReadDevices:  testReadings,
		DeviceMemory: testMemory,
		// It is a file that fails a probe, see counting.
		ProbeInterval: 5 * time.Millisecond,
		Log:           slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	fmt.Fprintln(os.Stderr, "test engine starts")
	return engine.ExitCode(engine.Serve(ctx, counting{pipeline.NewScripted(args[0]), args[1]}, cfg))
}

func testDevices() []engine.DeviceFacts {
	name, bytes := "test device", uint64(1<<30)
	return []engine.DeviceFacts{{Name: &name, MemoryBytes: &bytes}}
}

// testReadings are what a device with little to tell says.
func testReadings() []engine.DeviceReading {
	clock, used := uint32(1980), uint64(700<<20)
	return []engine.DeviceReading{{SMClockMHz: &clock, MemoryUsedBytes: &used}}
}

func testMemory() []engine.DeviceMemory {
	peak, overhead := int64(500<<20), int64(100<<20)
	return []engine.DeviceMemory{{PeakBytes: &peak, OverheadBytes: &overhead}}
}

// watchTrip loses the device when the file that TEST_TRIP names is there.
func watchTrip(ctx context.Context) error {
	trip := os.Getenv("TEST_TRIP")
	if trip == "" {
		return nil
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if os.Remove(trip) == nil {
				return errors.New("tripped")
			}
		}
	}
}

func supervisorMain(dir string) int {
	exe, err := os.Executable()
	if err != nil {
		return 1
	}
	s, err := engine.NewSupervisor(engine.Config{
		Command: []string{exe, "engine", "", os.DevNull}, RuntimeDir: dir,
		Log: slog.New(slog.NewJSONHandler(os.Stdout, nil)),
	})
	if err != nil {
		return 1
	}
	return engine.ExitCode(s.Run(context.Background()))
}

// counting notes each chunk made by one byte in a file, so that a test sees how far an engine is ahead of its reader.
type counting struct {
	pipeline.Pipeline
	path string
}

func (p counting) Open(ctx context.Context, req pipeline.Request) (pipeline.Session, error) {
	s, err := p.Pipeline.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	return countingSession{s, p.path}, nil
}

// Probe fails when the file that TEST_PROBE names is there.
func (p counting) Probe(context.Context) error {
	if path := os.Getenv("TEST_PROBE"); path != "" && os.Remove(path) == nil {
		return pipeline.ErrDeviceLost
	}
	return nil
}

type countingSession struct {
	pipeline.Session
	path string
}

// OnMove passes the wish on, where there is somebody to hear it.
func (s countingSession) OnMove(moved func(share float64)) {
	if m, ok := s.Session.(pipeline.Mover); ok {
		m.OnMove(moved)
	}
}

func (s countingSession) Next(ctx context.Context) (pipeline.Chunk, error) {
	chunk, err := s.Session.Next(ctx)
	if err != nil {
		return chunk, err
	}
	file, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return chunk, err
	}
	if _, err := io.WriteString(file, "."); err != nil {
		return chunk, err
	}
	return chunk, file.Close()
}
