package pipeline

import (
	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
	"telefuser/workers/stage"
)

// What flows between terrain's stages, for one chunk each.
type (
	// terrainWish is what is asked for.
	terrainWish struct {
		session *terrainSession
		index   int
		frames  int
		steering
	}
	// terrainCondition is a chunk made ready: its frames' tables, the map's new blocks, and what the flight is after it.
	terrainCondition struct {
		terrainWish
		plan    terrain.Plan
		applied Applied
		state   terrain.State
		times   terrain.Times
		// cpuNS is the processor time of making it ready.
		cpuNS int64
	}
	// terrainLatent is a chunk that is drawn.
	terrainLatent struct {
		terrainCondition
		pictures []media.Frame
	}
)

// The artifacts of terrain's graph.
func terrainControl() stage.Artifact[terrainWish] { return stage.NewArtifact[terrainWish]("control") }

func terrainConditions() stage.Artifact[terrainCondition] {
	return stage.NewArtifact[terrainCondition]("condition")
}

func terrainLatents() stage.Artifact[terrainLatent] {
	return stage.NewArtifact[terrainLatent]("latent")
}

// terrainGraph is what the sessions of terrain run on:
//
//	control ──(2)──> encode ──condition (1)──> generate ──latent (1)──> decode ──frames (1)──> Next
//
// Encode flies the camera, makes a new look's world and bakes what the map lacks; generate draws; decode closes the chunk. So while a bounded request's chunk is
// drawn, the one after it is made ready and the one before it is on its way out. A live session asks for one chunk at a time, so that a key acts on the very next one.
// Frames are what takes memory, so edges behind the drawing hold one chunk each.
func terrainGraph(t *slots[*terrainSession]) stage.Spec {
	control, condition, latent, frames := terrainControl(), terrainConditions(), terrainLatents(), chunksOut()
	return stage.Spec{
		Stages: []stage.Stage{
			{ID: StageEncode, Consumes: []stage.Port{control}, Produces: []stage.Port{condition}, Run: stage.Map(control, condition, encodeTerrain)},
			{ID: StageGenerate, Consumes: []stage.Port{condition}, Produces: []stage.Port{latent}, Run: stage.Map(condition, latent, generateTerrain), Release: t.release},
			{ID: StageDecode, Consumes: []stage.Port{latent}, Produces: []stage.Port{frames}, Run: stage.Map(latent, frames, decodeTerrain)},
		},
		Edges: []stage.Edge{
			{Artifact: control, Target: StageEncode, CapacityPerSession: 2},
			{Artifact: condition, Source: StageEncode, Target: StageGenerate},
			{Artifact: latent, Source: StageGenerate, Target: StageDecode},
		},
		Outputs:       []stage.Output{{Artifact: frames}},
		LatencyAnchor: control,
	}
}
