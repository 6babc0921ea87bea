package pipeline

import (
	"context"
	"errors"
	"fmt"

	"telefuser/workers/contract"
	"telefuser/workers/models/machine"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/world"
)

// worldPipeline is a model of a world behind the interface of all pipelines: a camera flies through it, along a script or under a viewer's keys.
type worldPipeline struct {
	modelHost
	kind worldKind
	// model is there between Load and Close. capacity is how many sessions the GPU has room for, latents how many latent frames a video may have that
	// the model remembers all of; 0: nobody counted.
	model    *wan.World
	capacity int
	latents  int
	stages   *slots[*worldSession]
}

// newWorld gives what makes a kind's pipeline.
func newWorld(kind func() worldKind) func(Options) (Pipeline, error) {
	return func(o Options) (Pipeline, error) {
		k := kind()
		return &worldPipeline{modelHost: modelHost{contract: k.contract, shape: k.shape, options: o}, kind: k}, nil
	}
}

// Contract says what the model accepts; once it is loaded, for how many sessions its GPU has room, and for how long ones.
func (p *worldPipeline) Contract() contract.Contract {
	c := p.accepts()
	if p.capacity > 0 {
		c.SessionsMax = min(c.SessionsMax, p.capacity)
	}
	if p.latents > 0 {
		g := &c.Geometry
		g.FramesMax = min(g.FramesMax, 1+(p.latents-1)*latentFrames)
		g.SecondsMax = min(g.SecondsMax, g.FramesMax/g.FPSDefault)
	}
	return c
}

// Load reads the weights, takes the memory of the sessions and makes a chunk for nobody. It fails with ErrInvalid where there are no weights, or none that fit,
// before it touches a device.
func (p *worldPipeline) Load(ctx context.Context, report func(share float64)) error {
	if p.model != nil {
		report(1)
		return nil
	}
	read := func(m *machine.Machine, b wan.WorldBackends, w *modelWeights) error {
		c, err := p.kind.config(w.shape, w.dit)
		if err != nil {
			return err
		}
		c.Type = m.Activations()
		p.model, err = wan.NewWorld(b, w.vae, w.dits[0], c)
		return err
	}
	warm := func(m *machine.Machine) error {
		if err := p.reserve(ctx, m); err != nil {
			return err
		}
		return p.warm(ctx)
	}
	if err := p.load(ctx, report, read, warm); err != nil {
		return errors.Join(err, p.Close()) //nolint:contextcheck // it is closed whatever has become of ctx
	}
	return nil
}

// reserve takes the memory of as many sessions as the GPU has room for, so that a session that opens takes none.
func (p *worldPipeline) reserve(ctx context.Context, m *machine.Machine) error {
	free, known, err := m.Free(ctx)
	if err != nil || !known {
		return err
	}
	if err := p.shorten(free); err != nil {
		return err
	}
	each := p.model.SessionBytes()
	p.capacity = int(min(free/each, int64(p.contract.SessionsMax)))
	if p.capacity < 1 {
		return fmt.Errorf("%w: %s wants %d MB for a session, and its GPU has %d MB left", ErrOutOfMemory, p.contract.Name, megabytes(each), megabytes(free))
	}
	return p.model.Reserve(p.capacity)
}

// shorten has videos that the model remembers all of end sooner, where the GPU has no room for one that is as long as the contract allows. It fails with
// ErrOutOfMemory where there is none for one of the contract's usual length.
func (p *worldPipeline) shorten(free int64) error {
	all, each, frame := p.model.Capacity(), p.model.SessionBytes(), p.model.FrameBytes()
	p.latents = int(all)
	if all == 0 || each <= free {
		return nil
	}
	chunk, g := int64(p.kind.latents), p.contract.Geometry
	least := min(all, max(2*chunk, chunksFor(int64(g.SecondsDefault*g.FPSDefault), chunk)*chunk))
	fits := (free - (each - all*frame)) / frame / chunk * chunk
	if fits < least {
		of := func(latents int64) int64 { return megabytes(each - (all-latents)*frame) }
		return fmt.Errorf("%w: %s remembers all of a video: one of %d s wants %d MB, one of %d s %d MB, and its GPU has %d MB left", ErrOutOfMemory, p.contract.Name,
			g.SecondsMax, of(all), g.SecondsDefault, of(least), megabytes(free))
	}
	p.latents = int(fits)
	return p.model.Shorten(p.latents)
}

// chunksFor is how many chunks of so many latent frames a video of some frames has.
func chunksFor(frames, latents int64) int64 {
	wanted := 1 + (frames+latentFrames-2)/latentFrames
	return (wanted + latents - 1) / latents
}

// megabytes are decimal, rounded down; below none is none.
func megabytes(bytes int64) int64 { return max(bytes, 0) / 1e6 }

// warm makes the first chunk of a grey video.
func (p *worldPipeline) warm(ctx context.Context) error {
	k := p.kind
	s, err := newWorldSession(p, Request{Width: k.width(), Height: k.height(), FPS: 1, Prompt: "grey", Image: grey(k.width(), k.height())}) //nolint:contextcheck // drawing one small picture is over at once
	if err != nil {
		return err
	}
	defer s.drop()
	condition, err := s.model.Condition(s.video)
	if err != nil {
		return err
	}
	text, err := s.text()
	if err != nil {
		return err
	}
	latents, err := s.model.Denoise(ctx, s.video, text, condition, world.Snapshot{Poses: make([]world.Pose, k.latents)}, wan.SeededNoise(0, 0))
	if err != nil {
		return err
	}
	_, err = s.model.Frames(s.video, latents)
	return err
}

// Open starts a flight, or goes on with the one of req.State.
func (p *worldPipeline) Open(ctx context.Context, req Request) (Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.model == nil {
		return nil, fmt.Errorf("pipeline: %s is not loaded", p.contract.Name)
	}
	s, err := newWorldSession(p, req) //nolint:contextcheck // as above
	if err != nil {
		return nil, modelError(err)
	}
	if p.stages == nil {
		if p.stages, err = startSlots(worldGraph); err != nil {
			s.drop()
			return nil, err
		}
	}
	s.stages = p.stages
	if err := p.stages.open(s, &s.course); err != nil {
		s.drop()
		return nil, modelError(err)
	}
	return s, nil
}

// Close ends the stages and lets the model and the device go.
func (p *worldPipeline) Close() error {
	var err error
	if p.stages != nil {
		err = p.stages.close()
		p.stages = nil
	}
	p.model, p.capacity, p.latents = nil, 0, 0
	return errors.Join(err, p.close())
}
