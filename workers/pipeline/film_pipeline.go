package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"telefuser/workers/contract"
	"telefuser/workers/models/clip"
	"telefuser/workers/models/machine"
	"telefuser/workers/models/wan"
)

// filmPipeline is a model that denoises a whole video at once, behind the interface of all pipelines. It makes one video at a time.
type filmPipeline struct {
	modelHost
	kind   filmKind
	model  *wan.Film
	eye    *clip.Encoder // nil where the model reads no picture's features
	stages *slots[*filmSession]
	busy   atomic.Bool
}

// newFilm gives what makes a kind's pipeline.
func newFilm(kind func() filmKind) func(Options) (Pipeline, error) {
	return func(o Options) (Pipeline, error) {
		k := kind()
		return &filmPipeline{modelHost: modelHost{contract: k.contract, shape: k.shape, options: o}, kind: k}, nil
	}
}

// Contract says what the model accepts.
func (p *filmPipeline) Contract() contract.Contract { return p.accepts() }

// Load reads the weights and makes a picture for nobody. It fails with ErrInvalid where there are no weights, or none that fit, before it touches a device.
func (p *filmPipeline) Load(ctx context.Context, report func(share float64)) error {
	if p.model != nil {
		report(1)
		return nil
	}
	read := func(m *machine.Machine, b wan.WorldBackends, w *modelWeights) error {
		var err error
		if w.image != nil {
			if p.eye, err = clip.NewEncoder(b.Encode, w.image, w.clip, m.Activations()); err != nil {
				return err
			}
		}
		p.model, err = wan.NewFilm(b, w.vae, w.dits, wan.FilmConfig{
			VAE: w.shape, DiT: w.dit, Boundary: p.kind.boundary, Given: p.kind.given, Chunk: chunkLatents, Settle: p.kind.settle, Type: m.Activations(),
		})
		return err
	}
	if err := p.load(ctx, report, read, func(*machine.Machine) error { return p.warm(ctx) }); err != nil {
		return errors.Join(err, p.Close()) //nolint:contextcheck // it is closed whatever has become of ctx
	}
	return nil
}

// warm makes one frame in one step, and another latent frame behind it where the first one may be given.
func (p *filmPipeline) warm(ctx context.Context) error {
	g := p.kind.contract.Geometry
	req := Request{Width: g.DefaultWidth, Height: g.DefaultHeight, FPS: 1, Frames: 1, Prompt: "grey", Parameters: map[string]any{paramSteps: int64(1)}}
	if may, must := p.kind.picture(); may {
		req.Image = grey(req.Width, req.Height)
		if !must {
			req.Frames += latentFrames
		}
	}
	s, err := newFilmSession(p, req)
	if err != nil {
		return err
	}
	if err := s.encode(); err != nil {
		return err
	}
	if err := s.denoise(ctx); err != nil {
		return err
	}
	_, err = s.decode(0)
	return err
}

// Open begins a video. It fails with ErrInvalid while there is another one.
func (p *filmPipeline) Open(ctx context.Context, req Request) (Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.model == nil {
		return nil, fmt.Errorf("pipeline: %s is not loaded", p.contract.Name)
	}
	s, err := newFilmSession(p, req)
	if err != nil {
		return nil, modelError(err)
	}
	if !p.busy.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("%w: %s makes one video at a time", ErrInvalid, p.contract.Name)
	}
	if p.stages == nil {
		p.stages, err = startSlots(filmGraph)
	}
	if err == nil {
		s.stages = p.stages
		err = p.stages.open(s, &s.course)
	}
	if err != nil {
		p.busy.Store(false)
		return nil, modelError(err)
	}
	return s, nil
}

// Close ends the stages and lets the model and the device go.
func (p *filmPipeline) Close() error {
	var err error
	if p.stages != nil {
		err = p.stages.close()
		p.stages = nil
	}
	p.model, p.eye = nil, nil
	return errors.Join(err, p.close())
}
