package pipeline

import (
	"context"
	"time"

	"telefuser/workers/stage"
)

// What flows between the stages of a film, for one chunk each. The first chunk's request encodes, and its denoising makes the whole video.
type (
	filmRequest struct {
		session *filmSession
		index   int
	}
	filmCondition struct{ nanos int64 }
	// filmWish is what is asked for.
	filmWish struct {
		session *filmSession
		index   int
		frames  int
	}
	// filmLatent is a chunk before it is decoded.
	filmLatent struct {
		filmWish
		encode, denoise int64
	}
)

// The artifacts of a film's graph.
func filmRequests() stage.Artifact[filmRequest] {
	return stage.NewArtifact[filmRequest]("encode_request")
}

func filmConditions() stage.Artifact[filmCondition] {
	return stage.NewArtifact[filmCondition]("condition")
}

func filmControls() stage.Artifact[filmWish] { return stage.NewArtifact[filmWish]("control") }

func filmLatents() stage.Artifact[filmLatent] { return stage.NewArtifact[filmLatent]("latent") }

// filmGraph is what the sessions of videos run on that are denoised at once.
func filmGraph(*slots[*filmSession]) stage.Spec {
	request, condition, control, latent := filmRequests(), filmConditions(), filmControls(), filmLatents()
	return modelGraph(request, condition, control, latent,
		stage.Map(request, condition, encodeFilm), stage.Join(condition, control, latent, denoiseFilm), stage.Map(latent, chunksOut(), decodeFilm))
}

func encodeFilm(_ context.Context, _ stage.Invocation, r filmRequest) (c filmCondition, err error) {
	if r.index > 0 {
		return c, nil
	}
	started := time.Now()
	err = r.session.encode()
	c.nanos = time.Since(started).Nanoseconds()
	return c, err
}

func denoiseFilm(ctx context.Context, _ stage.Invocation, c filmCondition, w filmWish) (l filmLatent, err error) {
	l.filmWish, l.encode = w, c.nanos
	if w.index > 0 {
		return l, nil
	}
	started := time.Now()
	err = w.session.denoise(ctx)
	l.denoise = time.Since(started).Nanoseconds()
	return l, err
}

func decodeFilm(_ context.Context, _ stage.Invocation, l filmLatent) (Chunk, error) {
	started := time.Now()
	frames, err := l.session.decode(l.index)
	if err != nil {
		return Chunk{}, err
	}
	return Chunk{
		Index: l.index, Frames: frames[:l.frames:l.frames],
		Stages: []StageFact{
			{Name: StageEncode, DurationNS: l.encode}, {Name: StageDenoise, DurationNS: l.denoise},
			{Name: StageDecode, DurationNS: time.Since(started).Nanoseconds()},
		},
	}, nil
}
