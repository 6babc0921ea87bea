package pipeline

import (
	"context"
	"sync"
	"time"

	"telefuser/workers/gpu"
	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
)

// terrainSession is one flight. Next and Close belong to one goroutine; Control may come from another. What makes the chunks belongs to the stages.
type terrainSession struct {
	course
	// newFrame makes a frame of the session's size to draw into.
	newFrame func() media.Frame

	// The encode stage's: base is the state but for the flight, what the world and the flight are made of; opening is the time that the world took, told
	// with the first chunk. The renderer is shared with the generate stage, as its halves are.
	base     terrain.State
	image    *media.Image
	flight   *terrain.Flight
	opening  time.Duration
	renderer terrainRenderer
	cuda     *terrain.CUDA
	ranges   *gpu.Ranges
	faults   *terrainFaults
	released sync.Once
	freed    error

	stages *slots[*terrainSession]
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

// release frees what the renderer holds, once.
func (s *terrainSession) release() error {
	s.released.Do(func() { s.freed = s.renderer.Close() })
	return s.freed
}

// Close ends the flight, waits until no stage works for it any more and frees what its renderer holds.
func (s *terrainSession) Close() error {
	return s.end(func(slot int) error {
		err := s.release()
		s.stages.free(slot)
		return err
	})
}
