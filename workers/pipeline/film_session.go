package pipeline

import (
	"context"
	"fmt"

	"telefuser/workers/media"
	"telefuser/workers/models/wan"
	"telefuser/workers/stage"
)

// filmSession is one video.
type filmSession struct {
	course
	kind     filmKind
	pipeline *filmPipeline
	stages   *slots[*filmSession]
	// What is asked for.
	width, height    int
	latents          int // latent frames of the whole video
	prompt, negative string
	given, image     *media.Image // the picture as it came, and of the video's size
	seed             int64
	steps            int
	scales           []float64
	shift            float64

	take *wan.Take
	made []float32 // all latents
	// moved is called each time that the work has moved, with the share of it that is done.
	moved func(share float64)
}

// shareDenoised is how much of a film's work is done when its latents are; what is left is decoded.
const shareDenoised = 0.9

// newFilmSession settles what the model is not needed for.
func newFilmSession(p *filmPipeline, req Request) (*filmSession, error) {
	k := p.kind
	if req.Frames < 1 || req.FPS < 1 || !k.contract.Geometry.Takes(req.Width, req.Height) || req.Frames > k.contract.Geometry.FramesMax {
		return nil, fmt.Errorf("%w: %d frames of %dx%d at %d fps", ErrInvalid, req.Frames, req.Width, req.Height, req.FPS)
	}
	if may, must := k.picture(); must && req.Image == nil || !may && req.Image != nil {
		return nil, fmt.Errorf("%w: %s begins with a picture: %t; there is one: %t", ErrInvalid, k.contract.Name, must, req.Image != nil)
	}
	s := &filmSession{
		course: course{total: req.Frames, latents: chunkLatents, translate: modelError},
		kind:   k, pipeline: p, width: req.Width, height: req.Height,
		latents: 1 + (req.Frames+latentFrames-2)/latentFrames, prompt: req.Prompt, seed: req.Seed, moved: func(float64) {},
		steps: k.steps, scales: append([]float64(nil), k.scales...), shift: k.shiftOf(req.Width, req.Height),
	}
	if req.Image != nil {
		resized := media.Resize(*req.Image, req.Width, req.Height)
		s.given, s.image = req.Image, &resized
	}
	s.request = func(index int) stage.Value { return filmRequests().Of(filmRequest{session: s, index: index}) }
	s.wish = func(index, frames int, _ steering) stage.Value {
		return filmControls().Of(filmWish{session: s, index: index, frames: frames})
	}
	return s, s.settle(req.Parameters)
}

// settle reads the parameters, which the contract has checked.
func (s *filmSession) settle(parameters map[string]any) error {
	for name, at := range map[string]*float64{paramScale: &s.scales[0], paramShift: &s.shift, paramScaleLow: nil, paramSteps: nil} {
		value, given := parameters[name]
		if !given || value == nil {
			continue
		}
		number, ok := numberOf(value)
		if !ok {
			return fmt.Errorf("%w: %s is no number", ErrInvalid, name)
		}
		switch {
		case at != nil:
			*at = number
		case name == paramSteps:
			s.steps = int(number)
		case len(s.scales) > 1:
			s.scales[1] = number
		}
	}
	s.negative, _ = parameters[paramNegative].(string)
	if s.steps < 1 || !(s.shift >= 1) {
		return fmt.Errorf("%w: %d steps with a shift of %g", ErrInvalid, s.steps, s.shift)
	}
	return nil
}

// numberOf reads a parameter's number.
func numberOf(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// OnMove has what it is told called each time that the work has moved, from any goroutine: a layer of a step, a chunk that was decoded.
func (s *filmSession) OnMove(moved func(share float64)) { s.moved = moved }

// encode lays the model out and makes all that leads the video. It belongs to the encode stage.
func (s *filmSession) encode() error {
	p := s.pipeline
	var err error
	if s.take, err = p.model.Begin(s.latents, s.height, s.width); err != nil {
		return err
	}
	towards, err := p.texts.Features(s.prompt)
	if err != nil {
		return err
	}
	against, err := p.texts.Features(s.negative)
	if err != nil {
		return err
	}
	if err := s.take.Lead(towards.Rows, against.Rows, s.scales); err != nil || s.image == nil {
		return err
	}
	if p.eye != nil {
		features, err := p.eye.Encode(*s.given)
		if err != nil {
			return err
		}
		if err := s.take.See(features); err != nil {
			return err
		}
	}
	return s.take.Picture(coloursOf(s.image.RGB))
}

// denoise makes all latents.
func (s *filmSession) denoise(ctx context.Context) error {
	solver, err := wan.NewUniPC(wan.FlowSigmas(s.shift, s.steps))
	if err != nil {
		return err
	}
	s.made, err = s.take.Walk(ctx, solver, wan.SeededNoise(s.seed, 0), func(share float64) { s.moved(share * shareDenoised) })
	return err
}

// decode makes the frames of a chunk.
func (s *filmSession) decode(index int) ([]media.Frame, error) {
	each := len(s.made) / s.latents
	from, to := index*chunkLatents, min((index+1)*chunkLatents, s.latents)
	planes, err := s.take.Frames(s.made[from*each : to*each])
	s.moved(shareDenoised + (1-shareDenoised)*float64(to)/float64(s.latents))
	return framesOf(planes, s.width, s.height), err
}

// release has nothing to free before Close.
func (s *filmSession) release() error { return nil }

// Close ends the video and waits until no stage works for it any more. Its memory is given back when the next one begins.
func (s *filmSession) Close() error {
	return s.end(func(slot int) error {
		s.take, s.made = nil, nil
		s.stages.free(slot)
		s.pipeline.busy.Store(false)
		return nil
	})
}
