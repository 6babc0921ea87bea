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

// worldGraph is what the sessions of a world run on.
func worldGraph(*slots[*worldSession]) stage.Spec {
	request, condition, control, latent := worldRequests(), worldConditions(), worldControls(), worldLatents()
	return modelGraph(request, condition, control, latent,
		stage.Map(request, condition, encodeWorld), stage.Join(condition, control, latent, denoiseWorld), stage.Map(latent, chunksOut(), decodeWorld))
}
