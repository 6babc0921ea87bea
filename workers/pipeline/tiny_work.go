package pipeline

import (
	"context"
	"time"

	"telefuser/workers/media"
	"telefuser/workers/models/wan"
	"telefuser/workers/stage"
)

// encodeTiny makes the condition of a chunk.
func encodeTiny(_ context.Context, _ stage.Invocation, r tinyRequest) (tinyCondition, error) {
	started := time.Now()
	s := r.session
	var c tinyCondition
	if !s.needs(r.index) {
		return c, nil
	}
	var err error
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

// denoiseTiny moves the camera and makes the chunk's latents.
func denoiseTiny(ctx context.Context, _ stage.Invocation, c tinyCondition, w tinyWish) (tinyLatent, error) {
	started := time.Now()
	s := w.session
	l := tinyLatent{tinyWish: w, encode: c.nanos, row: s.row}
	if err := s.steer(w.steering); err != nil {
		return l, err
	}
	l.row = s.row
	text, err := s.model.Prompt(s.row)
	if err != nil {
		return l, err
	}
	if c.tokens != nil {
		if c.kept != nil {
			if err := s.model.ResumeKeys(ctx, s.video, text, s.resumed, c.kept, s.made); err != nil {
				return l, err
			}
		}
		l.snapshot = s.camera.Next(chunkLatents)
		if l.latents, err = s.model.Denoise(ctx, s.video, text, c.tokens, l.snapshot, wan.SeededNoise(s.seed, s.chunk)); err != nil {
			return l, err
		}
		l.number = s.chunk
		s.chunk++
	}
	l.applied = Applied{ControlIDs: w.ids, Keys: s.camera.Keys(), Pose: s.camera.Pose()}
	if l.camera, err = s.camera.Store(); err != nil {
		return l, err
	}
	l.denoise = time.Since(started).Nanoseconds()
	return l, nil
}

// steer does what the controls say that have come since the last chunk. A bounded request has none.
func (s *tinySession) steer(c steering) error {
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
		s.row = tinyBiome(*c.prompt)
	}
	return err
}

// decodeTiny makes the chunk's frames.
func decodeTiny(ctx context.Context, _ stage.Invocation, l tinyLatent) (Chunk, error) {
	started := time.Now()
	s := l.session
	if s.made > 0 && !s.revived {
		if err := s.revive(ctx); err != nil {
			return Chunk{}, err
		}
	}
	if l.latents != nil {
		rgb, err := s.model.Decode(s.video, l.latents)
		if err != nil {
			return Chunk{}, err
		}
		s.pending = append(s.pending, tinyFrames(rgb)...)
		s.keep(l)
	}
	frames := s.pending[:l.frames:l.frames]
	s.pending = append([]media.Frame(nil), s.pending[l.frames:]...)
	state, err := s.state(l)
	return Chunk{
		Index: l.index, Frames: frames, Applied: l.applied, State: state,
		Stages: []StageFact{
			{Name: StageEncode, DurationNS: l.encode}, {Name: StageDenoise, DurationNS: l.denoise},
			{Name: StageDecode, DurationNS: time.Since(started).Nanoseconds()},
		},
	}, err
}

// revive decodes the chunks that the video goes on from once more; what was not given of the last one waits first.
func (s *tinySession) revive(ctx context.Context) error {
	last, err := s.model.ResumeFrames(ctx, s.video, s.resumed)
	if err != nil {
		return err
	}
	frames := tinyFrames(last)
	s.pending = append(s.pending, frames[max(len(frames)-s.spare, 0):]...)
	s.revived = true
	return nil
}

// tinyFrames turns rows of RGB in -1..1 into frames.
func tinyFrames(rgb []float32) []media.Frame {
	const one = tinyWidth * tinyHeight * 3
	var frames []media.Frame
	for ; len(rgb) >= one; rgb = rgb[one:] {
		img := media.Image{Width: tinyWidth, Height: tinyHeight, RGB: make([]byte, one)}
		for i, v := range rgb[:one] {
			img.RGB[i] = toByte(v)
		}
		frames = append(frames, media.FromRGB(img))
	}
	return frames
}
