package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"

	"telefuser/workers/engine/enginepb"
	"telefuser/workers/pipeline"
)

// server answers the protocol for one pipeline.
type server struct {
	enginepb.UnimplementedEngineServer
	cfg      ServeConfig
	pipeline pipeline.Pipeline
	progress progress
	phases   *phases
	// base ends when the server ends; stop ends it with a cause.
	base context.Context //nolint:containedctx // it is the server's own life, not a call's
	stop context.CancelCauseFunc

	// model serialises the calls into the pipeline itself; sessions run beside each other.
	model sync.Mutex

	mu       sync.Mutex
	loaded   bool
	sessions map[string]*session
	// sessionsPeak is the most that were open at once.
	sessionsPeak int
	// places is the memory that is shared with the supervisor; nil where there is none.
	places *framePlaces
}

func newServer(base context.Context, stop context.CancelCauseFunc, p pipeline.Pipeline, cfg ServeConfig) *server {
	return &server{cfg: cfg, pipeline: p, base: base, stop: stop, sessions: map[string]*session{}, phases: newPhases(cfg.ReadDevices, cfg.DeviceMemory)}
}

// Describe answers at any time.
func (s *server) Describe(context.Context, *enginepb.DescribeRequest) (*enginepb.DescribeResponse, error) {
	raw, err := json.Marshal(s.pipeline.Contract())
	if err != nil {
		return nil, fmt.Errorf("engine: contract: %w", err)
	}
	answer := &enginepb.DescribeResponse{ContractJson: raw, Runtime: runtime.Version(), Device: s.cfg.Device}
	if len(s.cfg.Devices) > 0 {
		if answer.DevicesJson, err = json.Marshal(s.cfg.Devices); err != nil {
			return nil, fmt.Errorf("engine: devices: %w", err)
		}
	}
	return answer, nil
}

// loadStep is the smallest share of loading that is reported.
const loadStep = 0.01

// Load loads the pipeline once.
func (s *server) Load(in *enginepb.LoadRequest, stream grpc.ServerStreamingServer[enginepb.LoadProgress]) error {
	s.model.Lock()
	defer s.model.Unlock()
	if s.isLoaded() {
		return nil
	}
	s.share(in)
	ctx, cancel := s.join(stream.Context())
	defer cancel()
	call := s.progress.begin()
	defer call.end()
	loading := s.phases.begin()
	reported := math.Inf(-1)
	err := s.pipeline.Load(ctx, func(share float64) {
		call.touch()
		if share-reported >= loadStep {
			reported = share
			// A send fails only when the stream is over, which ends ctx as well.
			_ = stream.Send(&enginepb.LoadProgress{Share: share})
		}
	})
	if err == nil {
		s.phases.fresh() // what a loaded engine holds is worth a moment
	}
	phase, jsonErr := loading.json(0)
	if err != nil {
		return failStream(stream, s.judge(err))
	}
	if jsonErr != nil {
		return jsonErr
	}
	s.mu.Lock()
	s.loaded = true
	s.mu.Unlock()
	return stream.Send(&enginepb.LoadProgress{Share: 1, PhaseJson: phase})
}

// share maps the memory for frames that the supervisor offers. An engine without it sends them.
func (s *server) share(in *enginepb.LoadRequest) {
	if in.GetFrameMemoryBytes() == 0 {
		return
	}
	memory, err := mapFrames(int(in.GetFrameMemoryFd()), in.GetFrameMemoryBytes())
	if err != nil {
		s.cfg.Log.Warn("frames are sent over the socket", "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places = &framePlaces{memory: memory}
}

// shared is the memory for frames; nil where there is none.
func (s *server) shared() *framePlaces {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places
}

func (s *server) isLoaded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// isIdle reports whether the pipeline is loaded and has no session.
func (s *server) isIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded && len(s.sessions) == 0
}

// join gives a context that ends with the call or with the server.
func (s *server) join(ctx context.Context) (context.Context, context.CancelFunc) {
	joined, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.base, func() { cancel(context.Cause(s.base)) })
	return joined, func() {
		stop()
		cancel(nil)
	}
}

// judge passes an error on, and ends the server when the pipeline cannot work on after it: a lost device is lost for the whole process,
// and what an allocation that failed half-way has left behind is known to nobody.
func (s *server) judge(err error) error {
	class := classOf(err)
	if class == ClassDeviceLost || class == ClassOutOfMemory {
		s.stop(&Error{Class: class, Message: err.Error()})
	}
	return err
}

// Health sends a heartbeat at once and then in each interval.
func (s *server) Health(_ *enginepb.HealthRequest, stream grpc.ServerStreamingServer[enginepb.Heartbeat]) error {
	ticker := time.NewTicker(s.cfg.HeartbeatInterval)
	defer ticker.Stop()
	for {
		busy, since := s.progress.report()
		s.mu.Lock()
		sessions := len(s.sessions)
		s.mu.Unlock()
		beat := &enginepb.Heartbeat{Busy: busy, SinceProgressNs: since.Nanoseconds(), Sessions: int32(sessions)}
		if err := stream.Send(beat); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-stream.Context().Done():
			return nil
		case <-s.base.Done():
			return nil
		}
	}
}

// Shutdown answers and lets the server end.
func (s *server) Shutdown(context.Context, *enginepb.ShutdownRequest) (*enginepb.ShutdownResponse, error) {
	s.stop(errShutdown)
	return &enginepb.ShutdownResponse{}, nil
}

// closeAll frees what is left when the server has ended.
func (s *server) closeAll(ctx context.Context) error {
	s.mu.Lock()
	left := make([]*session, 0, len(s.sessions))
	for _, session := range s.sessions {
		left = append(left, session)
	}
	s.mu.Unlock()
	for _, session := range left {
		session.cancel(errShutdown)
		if err := session.close(ctx); err != nil {
			s.cfg.Log.Warn("session did not close", "error", err)
		}
	}
	s.model.Lock()
	defer s.model.Unlock()
	if err := s.pipeline.Close(); err != nil {
		return fmt.Errorf("engine: close: %w", err)
	}
	return nil
}
