package workers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"telefuser/jobs"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

// film is a finished video on the local disk and what lies beside it.
type film struct {
	path        string
	info        media.MP4Info
	thumbnail   []byte
	spritesheet []byte
	state       []byte
}

// thumbnailSideMax is the longer side of the thumbnail, in pixels.
const thumbnailSideMax = 512

// reel collects what comes out of the engine.
type reel struct {
	attempt *attempt
	writer  *media.MP4Writer
	sheet   *media.Spritesheet
	// poster is the frame of the thumbnail: the one in the middle.
	poster media.Frame
	frames int
	state  []byte
	// inference is the sum of the stages; encode the time that frames were being taken.
	inference time.Duration
	encode    time.Duration
	half      bool
	// timing is that of the last chunk.
	timing *pipeline.Timing
}

// film generates and encodes the video. When it returns, the engine is free of the session or gone.
func (a *attempt) film(ctx context.Context, req pipeline.Request, source string) (film, error) {
	deadline := time.AfterFunc(a.worker.cfg.RunTimeout, func() { a.claim.Stop(jobs.ErrDeadline) })
	defer deadline.Stop()
	a.claim.Progress(0, phaseGenerating)
	segment := a.path("segment.mp4")
	writer, err := media.NewMP4Writer(ctx, media.MP4Options{
		FFmpeg: a.worker.cfg.FFmpeg, Dest: segment, Width: a.spec.Width, Height: a.spec.Height, FPS: a.spec.FPS,
		Comment: a.comment(),
	})
	if err != nil {
		return film{}, err
	}
	defer writer.Abort()
	sheet, err := media.NewSpritesheet(a.spec.Frames, a.spec.Width, a.spec.Height)
	if err != nil {
		return film{}, err
	}
	r := &reel{attempt: a, writer: writer, sheet: sheet}
	if err := a.generate(ctx, req, r); err != nil {
		return film{}, err
	}
	deadline.Reset(a.worker.cfg.FinishTimeout) // an ffmpeg that hangs would keep the job for ever
	a.worker.pass(PointEncoding)
	a.claim.Progress(percentEncoding, phaseEncoding)
	f, err := r.cut(ctx, segment, source)
	if len(a.facts.StagesNS) > 0 {
		a.facts.InferenceNS = nanoseconds(r.inference)
	}
	a.facts.EncodeNS = nanoseconds(r.encode)
	return f, err
}

// comment marks a file whose pictures mean nothing.
func (a *attempt) comment() string {
	if a.facts.Weights == "" {
		return ""
	}
	return "telefuser: weights " + a.facts.Weights + ", the pictures mean nothing"
}

// generate runs the engine session to its end.
func (a *attempt) generate(ctx context.Context, req pipeline.Request, r *reel) error {
	session, err := a.engine.Open(ctx, req)
	if err != nil {
		return err
	}
	defer func() { //nolint:contextcheck // a session is closed whatever became of ctx
		if err := session.Close(); err != nil {
			a.log.Warn("the engine had to be ended", "error", err)
		}
		a.notePhase(session)
	}()
	session.OnMove(func(share float64) { a.claim.Progress(int(share*percentEncoding), phaseGenerating) })
	return r.wind(ctx, session.Next)
}

// wind takes chunks until there are no more.
func (r *reel) wind(ctx context.Context, next func(context.Context) (pipeline.Chunk, error)) error {
	for {
		chunk, err := next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := r.take(chunk); err != nil {
			return err
		}
	}
	if want := r.attempt.spec.Frames; r.frames != want {
		return fmt.Errorf("%w: %d of %d", errShort, r.frames, want)
	}
	return nil
}

// take encodes a chunk.
func (r *reel) take(chunk pipeline.Chunk) error {
	a, total := r.attempt, r.attempt.spec.Frames
	if r.frames+len(chunk.Frames) > total {
		return fmt.Errorf("%w: more than %d", errShort, total)
	}
	r.noteStages(chunk.Stages)
	a.worker.metrics.timing.note(a.spec.Pipeline, chunk.Timing, r.timing)
	r.timing = chunk.Timing
	started := time.Now()
	for _, f := range chunk.Frames {
		if r.frames == total/2 {
			r.poster = f.Clone()
		}
		if err := r.sheet.Add(f, r.frames); err != nil {
			return err
		}
		if err := r.writer.Write(f); err != nil {
			return err
		}
		f.Release()
		r.frames++
	}
	r.encode += time.Since(started)
	if chunk.State != nil {
		r.state = chunk.State
	}
	a.claim.Progress(r.frames*percentEncoding/total, phaseGenerating)
	if !r.half && 2*r.frames >= total {
		r.half = true
		a.worker.pass(PointHalf)
	}
	return nil
}

func (r *reel) noteStages(stages []pipeline.StageFact) {
	facts := &r.attempt.facts
	if facts.StagesNS == nil {
		facts.StagesNS = map[string]int64{}
	}
	for _, stage := range stages {
		facts.StagesNS[stage.Name] += stage.DurationNS
		r.inference += time.Duration(stage.DurationNS)
	}
}

// cut finishes the file, joined to the one that it continues where there is one, and draws the pictures.
func (r *reel) cut(ctx context.Context, segment, source string) (film, error) {
	started := time.Now()
	defer func() { r.encode += time.Since(started) }()
	a := r.attempt
	f := film{path: segment, state: r.state}
	var err error
	if f.info, err = r.writer.Close(); err != nil {
		return film{}, err
	}
	frames := a.spec.Frames
	if source != "" {
		f.path = a.path("video.mp4")
		frames += a.spec.Source.Frames
		if f.info, err = media.ConcatMP4(ctx, media.ConcatOptions{FFmpeg: a.worker.cfg.FFmpeg, Dest: f.path, Comment: a.comment()}, source, segment); err != nil {
			return film{}, err
		}
	}
	if f.info.Frames != frames {
		return film{}, fmt.Errorf("%w: the file has %d of %d", errShort, f.info.Frames, frames)
	}
	if f.thumbnail, err = media.Thumbnail(ctx, a.worker.cfg.FFmpeg, r.poster, thumbnailSideMax); err != nil {
		return film{}, err
	}
	if f.spritesheet, err = r.sheet.JPEG(); err != nil {
		return film{}, err
	}
	return f, nil
}
