package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"

	"telefuser/internal/tracing"
	"telefuser/workers/engine/enginepb"
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
	// Device names the device in words; empty when unknown. Devices are the facts of each; none on the processor.
	Device  string
	Devices []DeviceFacts
	// WatchDevices, where set, answers an error when a device has become unusable, even while nobody works on it, and nil when ctx ends
	// or nothing can be known. The engine ends with ErrDeviceLost then.
	WatchDevices func(ctx context.Context) error
	// ReadDevices and DeviceMemory, where set, tell what can be read of each device, in the order of Devices. The first is called four times a
	// second while there is work, on a goroutine of its own, and may take its time; the second answers at once.
	ReadDevices  func() []DeviceReading
	DeviceMemory func() []DeviceMemory
	// ProbeInterval is the pause between two checks of the devices while no session is open, where the pipeline is a pipeline.Prober. It
	// defaults to 30 seconds.
	ProbeInterval time.Duration
	// Tracer makes spans of what the engine does; nil makes none.
	Tracer *tracing.Tracer
	// Log is required. It must write to standard error and never get a prompt.
	Log *slog.Logger
}

const (
	heartbeatIntervalDefault = 250 * time.Millisecond
	probeIntervalDefault     = 30 * time.Second
	// flushGrace is how long the last answers of a dying engine may take to reach the supervisor.
	flushGrace = time.Second
)

// Serve hosts p until ctx ends, Shutdown is called or p fails beyond repair, and closes it. The process must end afterwards, with
// ExitCode of the answer.
func Serve(ctx context.Context, p pipeline.Pipeline, cfg ServeConfig) error {
	if cfg.HeartbeatInterval == 0 {
		cfg.HeartbeatInterval = heartbeatIntervalDefault
	}
	if cfg.ProbeInterval == 0 {
		cfg.ProbeInterval = probeIntervalDefault
	}
	watchParent(cfg.Parent)
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "unix", cfg.Socket)
	if err != nil {
		return fmt.Errorf("engine: listen: %w", err)
	}
	base, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := newServer(base, stop, p, cfg)
	var beside sync.WaitGroup
	beside.Go(s.watchDevices)
	beside.Go(func() { s.phases.run(base) })
	beside.Go(s.probeWhileIdle)
	defer func() {
		stop(nil)
		waitFor(&beside, flushGrace)
	}()
	g := grpc.NewServer(
		grpc.MaxRecvMsgSize(messageBytesMax), grpc.MaxSendMsgSize(messageBytesMax),
		grpc.InitialWindowSize(windowBytes), grpc.InitialConnWindowSize(windowBytes), grpc.ForceServerCodecV2(newFrameCodec()),
	)
	enginepb.RegisterEngineServer(g, s)
	served := make(chan error, 1) // one answer, from the one goroutine below
	go func() { served <- g.Serve(listener) }()
	select {
	case err = <-served:
		stop(err)
	case <-base.Done():
		flush(g)
		err = <-served
	}
	if cause := context.Cause(base); err == nil && isFatal(cause) {
		err = cause
	}
	return errors.Join(err, s.closeAll(context.WithoutCancel(ctx)))
}

// waitFor waits for what runs beside the server, but not for a driver's tool that hangs: the process ends anyway.
func waitFor(beside *sync.WaitGroup, most time.Duration) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		beside.Wait()
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// watchDevices ends the server when a device is lost while nobody works on it.
func (s *server) watchDevices() {
	if s.cfg.WatchDevices == nil {
		return
	}
	if err := s.cfg.WatchDevices(s.base); err != nil {
		s.stop(&Error{Class: ClassDeviceLost, Message: err.Error()})
	}
}

// probeWhileIdle checks the devices now and then while nobody works on them: a card may fall off its bus without a word.
func (s *server) probeWhileIdle() {
	p, ok := s.pipeline.(pipeline.Prober)
	if !ok {
		return
	}
	ticker := time.NewTicker(s.cfg.ProbeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.base.Done():
			return
		case <-ticker.C:
		}
		if s.isIdle() {
			_ = s.judge(s.probe(p)) // judge ends the server where it must
		}
	}
}

// probe is a call into the pipeline like any other, so that a device that hangs is noticed.
func (s *server) probe(p pipeline.Prober) error {
	s.model.Lock()
	defer s.model.Unlock()
	call := s.progress.begin()
	defer call.end()
	return p.Probe(s.base)
}

// errShutdown ends a server in good order.
var errShutdown = errors.New("engine: shutdown")

// isFatal tells a failure of the pipeline from an end that was asked for.
func isFatal(cause error) bool {
	var own *Error
	return errors.As(cause, &own)
}

// flush ends the server: calls under way may bring their answers home, for a moment.
func flush(g *grpc.Server) {
	timer := time.AfterFunc(flushGrace, g.Stop)
	defer timer.Stop()
	g.GracefulStop()
}

// watchParent ends the process when the parent's end of the pipe is closed, which the kernel does however the parent died. The
// goroutine lives as long as the process: a read of a pipe cannot be called off.
func watchParent(parent *os.File) {
	if parent == nil {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, parent) // an error means the end as well
		os.Exit(ExitOrphaned)
	}()
}
