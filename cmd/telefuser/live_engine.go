package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"telefuser/storage"
	"telefuser/streaming"
	"telefuser/workers/contract"
	"telefuser/workers/engine"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

// liveEngine is a supervised engine as the room of live sessions sees it.
type liveEngine struct {
	supervisor *engine.Supervisor
	objects    storage.Store
	accepts    contract.Contract
}

// Ready answers nil while an engine is loaded.
func (e liveEngine) Ready() error {
	ended, cancel := context.WithCancel(context.Background())
	cancel() // to look, not to wait
	_, err := e.supervisor.Ready(ended)
	return err
}

// Open starts a session on the engine. Every live session is open-ended there, for a bounded one would fly by itself; its length is kept here.
func (e liveEngine) Open(ctx context.Context, s streaming.Session) (streaming.Source, error) {
	req := pipeline.Request{
		Task: contract.TaskTextToVideo, Prompt: s.Spec.Prompt, Width: s.Spec.Width, Height: s.Spec.Height, FPS: s.Spec.FPS, Seed: s.Spec.Seed,
		Parameters: liveParameters(s.Spec, e.accepts), State: s.State,
	}
	if s.Spec.ImageKey != "" {
		req.Task = contract.TaskImageToVideo
		if len(s.State) == 0 { // a state holds what is needed of the picture
			var err error
			if req.Image, err = e.picture(ctx, s.Spec.ImageKey); err != nil {
				return nil, err
			}
		}
	}
	src := &liveSource{bounded: s.Spec.Frames > 0, left: int64(s.Spec.Frames)}
	if len(s.State) > 0 {
		src.left -= s.Facts.CompletedFrames
	}
	var err error
	if src.session, err = e.supervisor.Open(ctx, req); err != nil {
		return nil, liveError(err)
	}
	if desc, err := e.supervisor.Ready(ctx); err == nil {
		src.weights = desc.Contract.Weights
	}
	return src, nil
}

// chunkParameter says how many latent frames a chunk has.
const chunkParameter = "chunk_size"

// liveParameters are a session's. One without an end that shows the latest is made in the shortest chunks that its pipeline has, unless it says otherwise: a
// control waits for the border of a chunk. One with a length is made as a video is.
func liveParameters(spec streaming.Spec, accepts contract.Contract) map[string]any {
	if spec.Frames > 0 || spec.Delivery != streaming.DeliveryLatest || spec.Parameters[chunkParameter] != nil {
		return spec.Parameters
	}
	for _, p := range accepts.Parameters {
		if p.Name == chunkParameter && p.Min != nil {
			all := map[string]any{}
			maps.Copy(all, spec.Parameters)
			all[chunkParameter] = int64(*p.Min)
			return all
		}
	}
	return spec.Parameters
}

// picture reads the reference picture of a session.
func (e liveEngine) picture(ctx context.Context, key string) (*media.Image, error) {
	body, _, err := e.objects.Open(ctx, key, 0, -1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	img, err := media.DecodeImage(ctx, body, media.ImageLimits{})
	return &img, err
}

// liveSource is one session on an engine.
type liveSource struct {
	session *engine.Session
	// weights is random:SEED where the pictures mean nothing.
	weights string
	// left is how many frames are still to come of a bounded session.
	bounded bool
	left    int64
}

// Weights is random:SEED where the pictures mean nothing, for the model's weights come from a seed; else it is empty.
func (s *liveSource) Weights() string { return s.weights }

// Next makes the next chunk, the last one cut to the session's length.
func (s *liveSource) Next(ctx context.Context) (streaming.Chunk, error) {
	if s.bounded && s.left <= 0 {
		return streaming.Chunk{}, io.EOF
	}
	c, err := s.session.Next(ctx)
	if err != nil {
		return streaming.Chunk{}, liveError(err)
	}
	if s.bounded {
		whole := len(c.Frames)
		shown := min(int64(whole), s.left)
		for _, f := range c.Frames[shown:] {
			f.Release()
		}
		c.Frames = c.Frames[:shown]
		s.left -= int64(len(c.Frames))
		if c.Sound != nil {
			*c.Sound = c.Sound.Part(0, len(c.Frames), whole)
		}
	}
	stages := make(map[string]int64, len(c.Stages))
	for _, stage := range c.Stages {
		stages[stage.Name] += stage.DurationNS
	}
	return streaming.Chunk{Index: c.Index, Frames: c.Frames, Sound: c.Sound, ControlIDs: c.Applied.ControlIDs, Keys: c.Applied.Keys, Pose: streaming.Pose(c.Applied.Pose),
		StagesNS: stages, Timing: liveTiming(c.Timing), State: c.State}, nil
}

// Control feeds one change. Its Stop is not for engines.
func (s *liveSource) Control(ctx context.Context, c streaming.Control) error {
	err := s.session.Control(ctx, pipeline.Control{ID: c.ID, Keys: c.Keys, Prompt: c.Prompt, Pose: (*pipeline.Pose)(c.Pose), Path: livePath(c.Path), Reset: c.Reset})
	if errors.Is(err, engine.ErrInvalid) {
		return fmt.Errorf("%w: %w", streaming.ErrBadControl, err)
	}
	return liveError(err)
}

// Close frees the session. That its engine had to be killed for it is the supervisor's business.
func (s *liveSource) Close() error { return s.session.Close() }

// liveError tells an engine that died from a session that cannot be, and one that died of hunger.
func liveError(err error) error {
	if errors.Is(err, engine.ErrOutOfMemory) {
		err = fmt.Errorf("%w: %w", streaming.ErrOutOfMemory, err)
	}
	for _, died := range []error{engine.ErrCrashed, engine.ErrStalled, engine.ErrDeviceLost, engine.ErrOutOfMemory, engine.ErrClosed} {
		if errors.Is(err, died) {
			return fmt.Errorf("%w: %w", streaming.ErrEngineLost, err)
		}
	}
	return err
}
