package pipeline

import (
	"context"
	"time"

	"telefuser/workers/media"
	"telefuser/workers/models/wan"
	"telefuser/workers/stage"
)

// encodeWorld makes the condition of a chunk.
func encodeWorld(_ context.Context, _ stage.Invocation, r worldRequest) (c worldCondition, err error) {
	s := r.session
	if !s.needs(r.index) {
		return c, nil
	}
	started := time.Now()
	if s.made > 0 && !s.conditioned {
		if c.kept, err = s.model.ResumeConditions(s.video, s.resumed, s.made); err != nil {
			return c, err
		}
		s.conditioned = true
	}
	c.tokens, err = s.model.Condition(s.video)
	c.nanos = time.Since(started).Nanoseconds()
	return c, err
}

// denoiseWorld moves the camera and makes the chunk's latents.
func denoiseWorld(ctx context.Context, _ stage.Invocation, c worldCondition, w worldWish) (worldLatent, error) {
	started := time.Now()
	s := w.session
	l := worldLatent{worldWish: w, encode: c.nanos}
	if err := s.steer(w.steering); err != nil {
		return l, err
	}
	l.prompt = s.prompt
	if err := s.denoise(ctx, c, &l); err != nil {
		return l, err
	}
	l.applied = Applied{ControlIDs: w.ids, Keys: s.camera.Keys(), Pose: s.camera.Pose()}
	var err error
	l.camera, err = s.camera.Store()
	l.denoise = time.Since(started).Nanoseconds()
	return l, err
}

// denoise makes a chunk's latents, where it needs any.
func (s *worldSession) denoise(ctx context.Context, c worldCondition, l *worldLatent) error {
	text, err := s.text()
	if err != nil || c.tokens == nil {
		return err
	}
	if c.kept != nil {
		if err := s.model.ResumeKeys(ctx, s.video, text, s.resumed, c.kept, s.made); err != nil {
			return err
		}
	}
	l.snapshot = s.camera.Next(s.kind.latents)
	if l.latents, err = s.model.Denoise(ctx, s.video, text, c.tokens, l.snapshot, wan.SeededNoise(s.seed, s.chunk)); err != nil {
		return err
	}
	l.number = s.chunk
	s.chunk++
	return nil
}

// steer does what the controls say that have come since the last chunk. A bounded request has none.
func (s *worldSession) steer(c steering) error {
	if !s.live {
		return nil
	}
	err := s.camera.Hold(c.keys)
	if err == nil && c.reset {
		err = s.camera.Jump(Pose{})
	}
	if err == nil && c.pose != nil {
		err = s.camera.Jump(*c.pose)
	}
	if err == nil && len(c.path) > 0 {
		err = s.camera.Follow(c.path)
	}
	if c.prompt != nil {
		s.prompt = *c.prompt
	}
	return err
}

// decodeWorld makes the chunk's frames.
func decodeWorld(ctx context.Context, _ stage.Invocation, l worldLatent) (Chunk, error) {
	started := time.Now()
	s := l.session
	if s.made > 0 && !s.revived {
		if err := s.revive(ctx); err != nil {
			return Chunk{}, err
		}
	}
	if l.latents != nil {
		planes, err := s.model.Frames(s.video, l.latents)
		if err != nil {
			return Chunk{}, err
		}
		s.pending = append(s.pending, framesOf(planes, s.kind.width(), s.kind.height())...)
		s.keep(l)
	}
	frames := s.pending[:l.frames:l.frames]
	s.pending = append([]media.Frame(nil), s.pending[l.frames:]...)
	state, err := s.state(l, frames[len(frames)-1])
	return Chunk{
		Index: l.index, Frames: frames, Applied: l.applied, State: state,
		Stages: []StageFact{
			{Name: StageEncode, DurationNS: l.encode}, {Name: StageDenoise, DurationNS: l.denoise},
			{Name: StageDecode, DurationNS: time.Since(started).Nanoseconds()},
		},
	}, err
}

// revive decodes the chunks that the video goes on from once more; what was not given of the last one waits first.
func (s *worldSession) revive(ctx context.Context) error {
	last, err := s.model.ResumeFrames(ctx, s.video, s.resumed)
	if err != nil {
		return err
	}
	frames := framesOf(last, s.kind.width(), s.kind.height())
	s.pending = append(s.pending, frames[max(len(frames)-s.spare, 0):]...)
	s.revived = true
	return nil
}
