package pipeline

import (
	"context"
	"errors"
	"fmt"

	"telefuser/workers/contract"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/world"
	"telefuser/workers/stage"
)

// TinyWorld is a small world model of our own behind the interface of all pipelines. It runs on the processor.
type TinyWorld struct {
	options Options
	// model is loaded between Load and Close.
	model  *wan.World
	stages *slots[*tinySession]
}

func newTinyWorldOn(o Options) (Pipeline, error) {
	if len(o.Devices) > 0 {
		return nil, fmt.Errorf("%w: %s runs on the processor, not on a GPU yet", ErrInvalid, tinyName)
	}
	return &TinyWorld{options: o}, nil
}

// Contract says what the model accepts.
func (t *TinyWorld) Contract() contract.Contract { return tinyContract() }

// Load reads the weights and makes a chunk for nobody. It fails with ErrInvalid where there are none, or none that fit.
func (t *TinyWorld) Load(ctx context.Context, report func(share float64)) error {
	if t.model != nil {
		report(1)
		return nil
	}
	from, err := findTiny(t.options)
	if err != nil {
		return err
	}
	report(0)
	model, err := from.open(wan.OnCPU())
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, tinyName, err)
	}
	const read, warm = 0.5, 1.0
	report(read)
	if err := warmTiny(ctx, model); err != nil {
		return tinyError(err)
	}
	t.model = model
	report(warm)
	return ctx.Err()
}

// warmTiny makes the first chunk of a grey video.
func warmTiny(ctx context.Context, m *wan.World) error {
	v, err := m.NewVideo(nil)
	if err != nil {
		return err
	}
	condition, err := m.Condition(v)
	if err != nil {
		return err
	}
	text, err := m.Prompt(len(tinyBiomes()))
	if err != nil {
		return err
	}
	latents, err := m.Denoise(ctx, v, text, condition, world.Snapshot{Poses: make([]world.Pose, chunkLatents)}, wan.SeededNoise(0, 0))
	if err != nil {
		return err
	}
	_, err = m.Decode(v, latents)
	return err
}

// Open starts a flight, or goes on with the one of req.State.
func (t *TinyWorld) Open(ctx context.Context, req Request) (Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t.model == nil {
		return nil, fmt.Errorf("pipeline: %s is not loaded", tinyName)
	}
	s, err := newTinySession(ctx, t.model, req)
	if err != nil {
		return nil, tinyError(err)
	}
	if t.stages == nil {
		if t.stages, err = startSlots(tinyGraph); err != nil {
			return nil, err
		}
	}
	s.stages = t.stages
	if err := t.stages.open(s, &s.course); err != nil {
		return nil, tinyError(err)
	}
	return s, nil
}

// Close ends the stages and lets the model go.
func (t *TinyWorld) Close() error {
	var err error
	if t.stages != nil {
		err = t.stages.close()
		t.stages = nil
	}
	t.model = nil
	return err
}

// tinyError translates the model's errors.
func tinyError(err error) error {
	if errors.Is(err, world.ErrConfig) || errors.Is(err, wan.ErrInput) || errors.Is(err, errTinyState) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return deviceError(err)
}

// What flows between tiny-world's stages, for one chunk each.
type (
	// tinyRequest is for the condition of a chunk, which no control changes.
	tinyRequest struct {
		session *tinySession
		index   int
	}
	// tinyCondition is what is given of a chunk; those of kept chunks are with the first chunk of a video that goes on.
	tinyCondition struct {
		tokens []float32
		kept   [][]float32
		nanos  int64
	}
	// tinyWish is what is asked for.
	tinyWish struct {
		session *tinySession
		index   int
		frames  int
		steering
	}
	// tinyLatent is a chunk before it is decoded. It has no latents where what was made before is enough.
	tinyLatent struct {
		tinyWish
		latents  []float32
		number   int64 // the chunk's in the whole video
		snapshot world.Snapshot
		camera   []byte
		row      int
		applied  Applied
		encode   int64
		denoise  int64
	}
)

// The artifacts of tiny-world's graph.
func tinyRequests() stage.Artifact[tinyRequest] {
	return stage.NewArtifact[tinyRequest]("encode_request")
}

func tinyConditions() stage.Artifact[tinyCondition] {
	return stage.NewArtifact[tinyCondition]("condition")
}

func tinyControls() stage.Artifact[tinyWish] { return stage.NewArtifact[tinyWish]("control") }

func tinyLatents() stage.Artifact[tinyLatent] { return stage.NewArtifact[tinyLatent]("latent") }

// tinyGraph is what the sessions of tiny-world run on:
//
//	encode_request ──(2)──> encode ──condition (2)──> denoise ──latent (1)──> decode ──frames (1)──> Next
//	                              control ──(2)──────^
//
// Conditions need no control and are made ahead. A live session pushes one control at a time, so that a key acts on the very next chunk.
func tinyGraph(*slots[*tinySession]) stage.Spec {
	request, condition, control, latent, frames := tinyRequests(), tinyConditions(), tinyControls(), tinyLatents(), chunksOut()
	return stage.Spec{
		Stages: []stage.Stage{
			{ID: StageEncode, Consumes: []stage.Port{request}, Produces: []stage.Port{condition}, Run: stage.Map(request, condition, encodeTiny)},
			{ID: StageDenoise, Consumes: []stage.Port{condition, control}, Produces: []stage.Port{latent}, Run: stage.Join(condition, control, latent, denoiseTiny)},
			{ID: StageDecode, Consumes: []stage.Port{latent}, Produces: []stage.Port{frames}, Run: stage.Map(latent, frames, decodeTiny)},
		},
		Edges: []stage.Edge{
			{Artifact: request, Target: StageEncode, CapacityPerSession: 2},
			{Artifact: control, Target: StageDenoise, CapacityPerSession: 2},
			{Artifact: condition, Source: StageEncode, Target: StageDenoise, CapacityPerSession: 2},
			{Artifact: latent, Source: StageDenoise, Target: StageDecode},
		},
		Outputs:       []stage.Output{{Artifact: frames}},
		LatencyAnchor: control,
	}
}
