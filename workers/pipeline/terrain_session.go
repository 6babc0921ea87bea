package pipeline

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
)

// promptBytesMax bounds the prompt of a control, in bytes.
const promptBytesMax = 128 << 10

// terrainSession is one flight. Next belongs to one goroutine; Control may come from another.
type terrainSession struct {
	width, height int
	total         int
	live          bool
	// base is the state but for the flight: what the world and the flight are made of.
	base     terrain.State
	image    *media.Image
	renderer terrainRenderer
	flight   *terrain.Flight
	cuda     *terrain.CUDA
	faults   *terrainFaults

	chunk, sent int
	closed      bool
	// opening is the time that the world took, told with the first chunk.
	opening time.Duration

	mu       sync.Mutex
	controls controls
}

// world makes the world of the base state and notes the time that it took.
func (s *terrainSession) world() (*terrain.World, error) {
	started := time.Now()
	defer func() { s.opening += time.Since(started) }()
	return terrain.NewWorld(terrain.WorldConfig{
		Prompt: s.base.Prompt, StylePrompt: s.base.StylePrompt, Seed: s.base.Seed,
		Image: s.image, Picture: s.base.Picture, HourOfDay: s.base.HourOfDay,
	})
}

// Control takes keys, a prompt, a pose or a reset for the next chunk. A bounded request has its flight fixed and refuses them.
func (s *terrainSession) Control(_ context.Context, c Control) error {
	if !s.live {
		return fmt.Errorf("%w: a bounded request takes no controls", ErrInvalid)
	}
	if c.Prompt != nil && len(*c.Prompt) > promptBytesMax {
		return fmt.Errorf("%w: prompt of %d bytes", ErrInvalid, len(*c.Prompt))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.controls.put(c)
}

// Overwritten is how many snapshots of keys were replaced before any chunk was made with them.
func (s *terrainSession) Overwritten() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.controls.overwritten
}

// Next renders the next chunk: 13 frames at first, then 16, and what is left at the end.
func (s *terrainSession) Next(ctx context.Context) (Chunk, error) {
	if s.closed || s.total > 0 && s.sent >= s.total {
		return Chunk{}, io.EOF
	}
	applied, err := s.apply()
	if err != nil {
		return Chunk{}, err
	}
	if err := s.fail(ctx); err != nil {
		return Chunk{}, terrainError(err)
	}
	times := terrain.Times{Encode: s.opening}
	chunk := Chunk{Index: s.chunk, Applied: applied}
	var shots []terrain.Shot
	for range chunkFrames(s.chunk, s.sent, s.total) {
		pose, ticks := s.flight.Next()
		shots = append(shots, terrain.Shot{Pose: pose, Ticks: ticks})
		chunk.Frames = append(chunk.Frames, media.NewFrame(s.width, s.height))
		chunk.Applied.Pose = pose
	}
	cost, err := s.renderer.Render(ctx, chunk.Frames, shots, s.base.Altitude)
	if err != nil {
		return Chunk{}, terrainError(err)
	}
	times = times.Add(cost)
	s.opening = 0
	s.sent += len(chunk.Frames)
	s.chunk++
	chunk.Stages = []StageFact{
		{Name: StageEncode, DurationNS: times.Encode.Nanoseconds()},
		{Name: StageGenerate, DurationNS: times.Generate.Nanoseconds()},
		{Name: StageDecode, DurationNS: times.Decode.Nanoseconds()},
	}
	chunk.Applied.Keys = s.flight.State().Keys
	state := s.base
	state.Flight = s.flight.State()
	chunk.State, err = state.Encode()
	return chunk, err
}

// apply takes the controls that have come since the last chunk.
func (s *terrainSession) apply() (Applied, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		return Applied{}, nil
	}
	keys, ids := s.controls.take()
	s.flight.Hold(keys)
	if s.controls.reset {
		s.flight.Jump(Pose{})
	}
	if s.controls.pose != nil {
		s.flight.Jump(*s.controls.pose)
	}
	prompt := s.controls.prompt
	s.controls.reset, s.controls.pose, s.controls.prompt = false, nil, nil
	if prompt != nil && *prompt != s.base.StylePrompt {
		s.base.StylePrompt = *prompt
		world, err := s.world()
		if err != nil {
			return Applied{}, terrainError(err)
		}
		s.renderer.SetWorld(world)
	}
	return Applied{ControlIDs: ids, Keys: keys}, nil
}

// fail carries out the failure that a test has laid out for the device, if there is one.
func (s *terrainSession) fail(ctx context.Context) error {
	if s.cuda == nil {
		return nil
	}
	if fault := s.faults.next(); fault != "" {
		return s.cuda.Plant(ctx, fault)
	}
	return nil
}

// Close ends the flight and frees what its renderer holds.
func (s *terrainSession) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return terrainError(s.renderer.Close())
}
