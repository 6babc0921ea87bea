package pipeline

import (
	"context"

	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
	"telefuser/workers/stage"
)

// encodeTerrain flies the chunk's way and makes its frames ready.
func encodeTerrain(_ context.Context, _ stage.Invocation, w terrainWish) (terrainCondition, error) {
	s := w.session
	shown := s.ranges.Begin(StageEncode)
	defer shown.End()
	c := terrainCondition{terrainWish: w}
	if s.live {
		if err := s.steer(w.steering); err != nil {
			return c, err
		}
	}
	shots := make([]terrain.Shot, w.frames)
	for i := range shots {
		shots[i].Pose, shots[i].Ticks = s.flight.Next()
		c.applied.Pose = shots[i].Pose
	}
	c.plan, c.times = s.renderer.Prepare(shots, s.base.Altitude)
	c.times.Encode += s.opening
	c.cpuNS, s.opening = c.times.CPU.Nanoseconds(), 0
	c.state = s.base
	c.state.Flight = s.flight.State()
	c.applied.ControlIDs, c.applied.Keys = w.ids, c.state.Flight.Keys
	return c, nil
}

// steer does what the controls say that have come since the last chunk.
func (s *terrainSession) steer(c steering) error {
	s.flight.Hold(c.keys)
	if c.reset {
		s.flight.Jump(Pose{})
	}
	if c.pose != nil {
		s.flight.Jump(*c.pose)
	}
	if len(c.path) > 0 {
		s.flight.Follow(c.path)
	}
	if c.prompt == nil || *c.prompt == s.base.StylePrompt {
		return nil
	}
	s.base.StylePrompt = *c.prompt
	world, err := s.world()
	if err != nil {
		return err
	}
	s.renderer.SetWorld(world)
	return nil
}

// generateTerrain draws the chunk.
func generateTerrain(ctx context.Context, _ stage.Invocation, c terrainCondition) (terrainLatent, error) {
	s := c.session
	shown := s.ranges.Begin(StageGenerate)
	defer shown.End()
	l := terrainLatent{terrainCondition: c, pictures: make([]media.Frame, c.frames)}
	if err := s.fail(ctx); err != nil {
		return l, err
	}
	for i := range l.pictures {
		l.pictures[i] = s.newFrame()
	}
	cost, err := c.plan.Draw(ctx, l.pictures)
	l.plan, l.times = nil, c.times.Add(cost)
	return l, err
}

// decodeTerrain closes the chunk. The planes are there already: on the processor they are written while a strip lies in its cache, on a device they
// come home while the next frames are drawn.
func decodeTerrain(_ context.Context, _ stage.Invocation, l terrainLatent) (Chunk, error) {
	shown := l.session.ranges.Begin(StageDecode)
	defer shown.End()
	state, err := l.state.Encode()
	return Chunk{
		Index: l.index, Frames: l.pictures, Applied: l.applied, State: state,
		Stages: []StageFact{
			{Name: StageEncode, DurationNS: l.times.Encode.Nanoseconds(), CPUNS: l.cpuNS},
			{Name: StageGenerate, DurationNS: l.times.Generate.Nanoseconds(), CPUNS: l.times.CPU.Nanoseconds() - l.cpuNS},
			{Name: StageDecode, DurationNS: l.times.Decode.Nanoseconds()},
		},
	}, err
}
