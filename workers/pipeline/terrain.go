package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"telefuser/workers/contract"
	"telefuser/workers/gpu"
	"telefuser/workers/models/terrain"
	"telefuser/workers/stage"
)

// Terrain is the built-in world renderer behind the interface of all pipelines. It needs no weights, and no device; with one, frames are
// drawn there, with the same bytes.
type Terrain struct {
	threads int
	// device is the GPU's ordinal, or nil for the processor; cuda is open between Load and Close.
	device *int
	cuda   *terrain.CUDA
	// opened is cuda for those who only look.
	opened atomic.Pointer[terrain.CUDA]
	// ranges show the stages to a profiler; nil on the processor.
	ranges *gpu.Ranges
	faults terrainFaults
	// stages run the sessions, from the first Open to Close.
	stages *slots[*terrainSession]
}

// NewTerrain makes the pipeline for the processor. Its sessions use as many goroutines as GOMAXPROCS allows; their number changes no byte.
func NewTerrain() *Terrain { return &Terrain{} }

// newTerrainOn makes the pipeline for the processor or for one GPU.
func newTerrainOn(o Options) (Pipeline, error) {
	t := NewTerrain()
	switch len(o.Devices) {
	case 0:
		return t, nil
	case 1:
		t.device, t.faults.dir = &o.Devices[0], o.FaultDir
		return t, nil
	}
	return nil, fmt.Errorf("%w: terrain runs on one GPU, not on %d", ErrInvalid, len(o.Devices))
}

// Contract says what the renderer accepts.
func (t *Terrain) Contract() contract.Contract { return terrainContract() }

// Load opens the device, where there is one, and has it run a small kernel. It fails with ErrDeviceLost when the device does not do that
// right, and with ErrInvalid when there is none.
func (t *Terrain) Load(ctx context.Context, report func(share float64)) error {
	if t.device != nil && t.cuda == nil {
		cuda, err := terrain.OpenCUDA(ctx, *t.device)
		if err != nil {
			return deviceLoadError(err)
		}
		t.cuda = cuda
		t.opened.Store(cuda)
		t.ranges = gpu.OpenRanges([]string{StageEncode, StageGenerate, StageDecode})
	}
	report(1)
	return ctx.Err()
}

// Open starts a flight, or goes on with the one of req.State: then the world is the state's, and a prompt that differs from the
// state's changes its look.
func (t *Terrain) Open(ctx context.Context, req Request) (Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if req.Frames < 0 {
		return nil, fmt.Errorf("%w: %d frames", ErrInvalid, req.Frames)
	}
	s := &terrainSession{course: course{total: req.Frames, live: req.Frames == 0, translate: terrainError}, cuda: t.cuda, ranges: t.ranges, faults: &t.faults}
	s.wish = func(index, frames int, st steering) stage.Value {
		return terrainControl().Of(terrainWish{session: s, index: index, frames: frames, steering: st})
	}
	if err := s.start(ctx, req, t); err != nil {
		return nil, terrainError(err)
	}
	if err := t.schedule(s); err != nil { //nolint:contextcheck // the stages outlive the call
		return nil, errors.Join(err, terrainError(s.release()))
	}
	if wantsSound(req) {
		return newSoundSession(s, req), nil
	}
	return s, nil
}

// schedule gives a session its place among the stages.
func (t *Terrain) schedule(s *terrainSession) error {
	if t.stages == nil {
		stages, err := startSlots(terrainGraph)
		if err != nil {
			return err
		}
		t.stages = stages
	}
	s.stages = t.stages
	return t.stages.open(s, &s.course)
}

// Close ends the stages and gives the device back.
func (t *Terrain) Close() error {
	var err error
	if t.stages != nil {
		err = t.stages.close()
		t.stages = nil
	}
	if t.cuda != nil {
		t.opened.Store(nil)
		err = errors.Join(err, deviceError(t.cuda.Close()))
		t.cuda = nil
	}
	return err
}

// start builds world, flight and renderer.
func (s *terrainSession) start(ctx context.Context, req Request, t *Terrain) error {
	from, err := s.settle(req)
	if err != nil {
		return err
	}
	world, err := s.world()
	if err != nil {
		return err
	}
	s.base.Picture = world.Picture()
	s.flight, err = terrain.NewFlight(terrain.FlightConfig{
		FPS: req.FPS, Speed: s.base.Speed, Seed: s.base.Seed, Camera: req.Camera, Frames: req.Frames, Autopilot: !s.live,
	}, from)
	if err != nil {
		return err
	}
	s.renderer, err = t.renderer(ctx, world, req.Width, req.Height)
	return err
}

// settle decides what world it is and how it is flown, from the request and from the state that it continues.
func (s *terrainSession) settle(req Request) (*terrain.FlightState, error) {
	latents, err := latentsOf(req.Parameters)
	if err != nil {
		return nil, err
	}
	s.newFrame, s.latents = req.newFrame, latents
	s.base = terrain.State{Prompt: req.Prompt, StylePrompt: req.StylePrompt, Seed: req.Seed, HourOfDay: -1, Altitude: 1, Speed: 1}
	s.image = req.Image
	var from *terrain.FlightState
	if len(req.State) > 0 {
		state, err := terrain.DecodeState(req.State)
		if err != nil {
			return nil, err
		}
		s.base, from = *state, &state.Flight
		if s.live && from.Script == "" {
			s.controls.keys = from.Keys
		}
		if s.base.Picture != nil {
			s.image = nil
		}
		if style := restyle(req, state); style != "" {
			s.base.StylePrompt, s.base.HourOfDay = style, -1
		}
	}
	for name, target := range map[string]*float64{"altitude": &s.base.Altitude, "speed": &s.base.Speed, "time_of_day": &s.base.HourOfDay} {
		value, given := req.Parameters[name]
		if !given || value == nil {
			continue
		}
		number, ok := value.(float64)
		if whole, isWhole := value.(int64); isWhole {
			number, ok = float64(whole), true
		}
		if !ok || math.IsNaN(number) || math.IsInf(number, 0) {
			return nil, fmt.Errorf("%w: %s is no number", ErrInvalid, name)
		}
		*target = number
	}
	return from, nil
}

// restyle is the style that a continued flight changes to, or empty where it keeps its own.
func restyle(req Request, state *terrain.State) string {
	switch {
	case req.StylePrompt != "" && req.StylePrompt != state.StylePrompt:
		return req.StylePrompt
	case req.StylePrompt == "" && req.Prompt != "" && req.Prompt != state.Prompt && req.Prompt != state.StylePrompt:
		return req.Prompt
	}
	return ""
}

func validPose(p Pose) bool {
	for _, v := range []float64{p.X, p.Y, p.Z, p.Yaw, p.Pitch} {
		if math.IsNaN(v) || math.Abs(v) > 1e6 {
			return false
		}
	}
	return true
}

// terrainError translates the renderer's errors, and those of its device.
func terrainError(err error) error {
	if errors.Is(err, terrain.ErrConfig) || errors.Is(err, terrain.ErrState) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return deviceError(err)
}
