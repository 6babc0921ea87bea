package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"telefuser/workers/gpu"
	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
	"telefuser/workers/stage"
)

// promptBytesMax bounds the prompt of a control, in bytes.
const promptBytesMax = 128 << 10

// terrainSession is one flight. Next and Close belong to one goroutine; Control may come from another. What makes the chunks belongs to the stages.
type terrainSession struct {
	width, height int
	total         int
	live          bool
	// latents is how many latent frames a chunk has.
	latents int

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

	// stages run it, under the name of a slot.
	stages *terrainStages
	flow   *stage.Session
	slot   int

	// asked counts the chunks and frames that were asked for, taken those that Next has given.
	asked, askedFrames, taken int
	closed                    bool

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

// Control takes keys, a prompt, a pose, a path or a reset for the next chunk. A bounded request has its flight fixed and refuses them.
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

// Next gives the next chunk: 13 frames at first, then 16, and what is left at the end. A bounded request's later chunks are begun meanwhile; a live session's
// begin with the controls of this moment. When ctx ends while a chunk is made, the chunk is there for the next call.
func (s *terrainSession) Next(ctx context.Context) (Chunk, error) {
	if s.closed {
		return Chunk{}, io.EOF
	}
	if ctx.Err() != nil {
		return Chunk{}, context.Cause(ctx)
	}
	if err := s.ask(ctx); err != nil {
		return Chunk{}, terrainError(err)
	}
	out, err := s.flow.Next(ctx)
	if errors.Is(err, io.EOF) {
		return Chunk{}, io.EOF
	}
	if err != nil {
		return Chunk{}, terrainError(err)
	}
	s.taken++
	chunk, _ := terrainFrames().From(out.Values)
	chunk.Timing = timingOf(out.Facts, s.flow.Latencies(), s.stages.scheduler.Diagnostics())
	return chunk, nil
}

// ask pushes what may be pushed: all that finds room of a bounded request, and one chunk of a live session when none is under way.
func (s *terrainSession) ask(ctx context.Context) error {
	for s.live && s.asked == s.taken || s.askedFrames < s.total {
		w := terrainWish{session: s, index: s.asked, frames: s.chunkFrames(s.asked, s.askedFrames)}
		if s.live {
			s.mu.Lock()
			w.steering = s.controls.take()
			s.mu.Unlock()
			if err := s.flow.Push(ctx, int64(s.asked), terrainControl().Of(w)); err != nil {
				return err
			}
		} else if ok, err := s.flow.TryPush(int64(s.asked), terrainControl().Of(w)); !ok || err != nil {
			return err
		}
		s.asked++
		s.askedFrames += w.frames
	}
	return nil
}

// chunks is how many chunks a bounded request has.
func (s *terrainSession) chunks() int64 {
	count := 0
	for sent := 0; sent < s.total; count++ {
		sent += s.chunkFrames(count, sent)
	}
	return int64(count)
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
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.flow.Close(context.Background())
	if err == nil { // else something may still draw with it, and its name is lost
		err = s.release()
		s.stages.free(s.slot)
	}
	return terrainError(err)
}
