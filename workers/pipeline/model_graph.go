package pipeline

import "telefuser/workers/stage"

// modelGraph is what the sessions of models run on, from the artifacts between its stages and their work:
//
//	encode_request ──(2)──> encode ──condition (2)──> denoise ──latent (1)──> decode ──frames (1)──> Next
//	                              control ──(2)──────^
//
// Conditions need no control and are made ahead. A live session pushes one control at a time, so that a key acts on the very next chunk.
func modelGraph(request, condition, control, latent stage.Port, encode, denoise, decode stage.RunFunc) stage.Spec {
	frames := chunksOut()
	return stage.Spec{
		Stages: []stage.Stage{
			{ID: StageEncode, Consumes: []stage.Port{request}, Produces: []stage.Port{condition}, Run: encode},
			{ID: StageDenoise, Consumes: []stage.Port{condition, control}, Produces: []stage.Port{latent}, Run: denoise},
			{ID: StageDecode, Consumes: []stage.Port{latent}, Produces: []stage.Port{frames}, Run: decode},
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
