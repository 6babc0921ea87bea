package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"

	"telefuser/workers/contract"
	"telefuser/workers/models/terrain"
)

// Terrain is the built-in world renderer behind the interface of all pipelines. It needs no weights and no device.
type Terrain struct {
	threads int
}

// NewTerrain makes the pipeline. Its sessions use as many goroutines as GOMAXPROCS allows; their number changes no byte.
func NewTerrain() *Terrain { return &Terrain{} }

// Contract says what the renderer accepts.
func (t *Terrain) Contract() contract.Contract { return terrainContract() }

// Load has nothing to bring in.
func (t *Terrain) Load(ctx context.Context, report func(share float64)) error {
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
	s := &terrainSession{total: req.Frames, live: req.Frames == 0}
	if err := s.start(req, t.threads); err != nil {
		return nil, terrainError(err)
	}
	return s, nil
}

// Close has nothing to free.
func (t *Terrain) Close() error { return nil }

// start builds world, flight and renderer.
func (s *terrainSession) start(req Request, threads int) error {
	from, err := s.settle(req)
	if err != nil {
		return err
	}
	world, err := s.world()
	if err != nil {
		return err
	}
	s.base.Picture = world.Picture()
	s.renderer, err = terrain.NewRenderer(world, req.Width, req.Height, threads)
	if err != nil {
		return err
	}
	s.flight, err = terrain.NewFlight(terrain.FlightConfig{
		FPS: req.FPS, Speed: s.base.Speed, Seed: s.base.Seed, Camera: req.Camera, Frames: req.Frames, Autopilot: !s.live,
	}, from)
	return err
}

// settle decides what world it is and how it is flown, from the request and from the state that it continues.
func (s *terrainSession) settle(req Request) (*terrain.FlightState, error) {
	s.width, s.height = req.Width, req.Height
	s.base = terrain.State{Prompt: req.Prompt, StylePrompt: req.StylePrompt, Seed: req.Seed, HourOfDay: -1, Altitude: 1, Speed: 1}
	s.image = req.Image
	var from *terrain.FlightState
	if len(req.State) > 0 {
		state, err := terrain.DecodeState(req.State)
		if err != nil {
			return nil, err
		}
		s.base, from = *state, &state.Flight
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

// terrainError translates the renderer's errors.
func terrainError(err error) error {
	if errors.Is(err, terrain.ErrConfig) || errors.Is(err, terrain.ErrState) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return err
}
