package pipeline

import (
	"telefuser/workers/models/world"
	"telefuser/workers/stage"
)

// What flows between the stages of a world, for one chunk each.
type (
	// worldRequest is for the condition of a chunk, which no control changes.
	worldRequest struct {
		session *worldSession
		index   int
	}
	// worldCondition is what is given of a chunk; those of kept chunks are with the first chunk of a video that goes on.
	worldCondition struct {
		tokens []float32
		kept   [][]float32
		nanos  int64
	}
	// worldWish is what is asked for.
	worldWish struct {
		session *worldSession
		index   int
		frames  int
		steering
	}
	// worldLatent is a chunk before it is decoded. It has no latents where what was made before is enough.
	worldLatent struct {
		worldWish
		latents  []float32
		number   int64 // the chunk's in the whole video
		snapshot world.Snapshot
		camera   []byte
		prompt   string
		applied  Applied
		encode   int64
		denoise  int64
	}
)

// The artifacts of a world's graph.
func worldRequests() stage.Artifact[worldRequest] {
	return stage.NewArtifact[worldRequest]("encode_request")
}

func worldConditions() stage.Artifact[worldCondition] {
	return stage.NewArtifact[worldCondition]("condition")
}

func worldControls() stage.Artifact[worldWish] { return stage.NewArtifact[worldWish]("control") }

func worldLatents() stage.Artifact[worldLatent] { return stage.NewArtifact[worldLatent]("latent") }

// worldGraph is what the sessions of a world run on:
//
//	encode_request ──(2)──> encode ──condition (2)──> denoise ──latent (1)──> decode ──frames (1)──> Next
//	                              control ──(2)──────^
//
// Conditions need no control and are made ahead. A live session pushes one control at a time, so that a key acts on the very next chunk.
func worldGraph(*slots[*worldSession]) stage.Spec {
	request, condition, control, latent, frames := worldRequests(), worldConditions(), worldControls(), worldLatents(), chunksOut()
	return stage.Spec{
		Stages: []stage.Stage{
			{ID: StageEncode, Consumes: []stage.Port{request}, Produces: []stage.Port{condition}, Run: stage.Map(request, condition, encodeWorld)},
			{ID: StageDenoise, Consumes: []stage.Port{condition, control}, Produces: []stage.Port{latent}, Run: stage.Join(condition, control, latent, denoiseWorld)},
			{ID: StageDecode, Consumes: []stage.Port{latent}, Produces: []stage.Port{frames}, Run: stage.Map(latent, frames, decodeWorld)},
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
