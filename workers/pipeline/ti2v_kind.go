package pipeline

import (
	"telefuser/workers/contract"
	"telefuser/workers/models/weights"
)

// The videos of Wan 2.2 TI2V 5B.
const (
	ti2vName      = "wan2.2-ti2v-5b"
	ti2vFPS       = 24
	ti2vFramesMax = 121 // those of its training
	ti2vWidth     = 1280
	ti2vHeight    = 704
	ti2vSideMin   = 256
)

// ti2vKind is Wan 2.2 with 5 B parameters: one transformer makes videos from a text, and from a picture, which then is the first latent frame.
func ti2vKind() filmKind {
	text := weights.UMT5XXL()
	return filmKind{
		contract: ti2vContract(),
		shape: modelShape{
			name: ti2vName, folders: []string{ti2vName, "Wan2.2-TI2V-5B"}, transformers: []weights.Part{weights.PartDiT}, vae: weights.Wan22VAE(), text: &text,
			dit: weights.DiTConfig{
				Dim: 3072, FFN: 14336, Layers: 30, Heads: 24, In: 48, Out: 48, Patch: [3]int{1, 2, 2}, TextDim: 4096, TextLen: 512, Freq: 256, Local: -1, Eps: 1e-6,
			},
		},
		shift: 5, shiftLarge: 5, steps: 50, scales: []float64{5}, settle: 1, given: true,
	}
}

// ti2vContract is what the model accepts: every size whose sides are multiples of 32, of no more pixels than it was trained on.
func ti2vContract() contract.Contract {
	task := func(name string, required ...string) contract.Task {
		return contract.Task{Name: name, MediaType: "video/mp4", RequiredInputs: required, OptionalInputs: []string{}}
	}
	return contract.Contract{
		Name: ti2vName, Version: "1", OwnedBy: "wan-ai", CreatedAtUnix: 1796083200,
		Tasks: []contract.Task{task(contract.TaskTextToVideo, "prompt"), task(contract.TaskImageToVideo, "prompt", "input_reference")},
		Geometry: contract.Geometry{
			DefaultWidth: ti2vWidth, DefaultHeight: ti2vHeight,
			WidthMin: ti2vSideMin, HeightMin: ti2vSideMin, SideMax: ti2vWidth, PixelsMax: ti2vWidth * ti2vHeight, SideMultiple: 32,
			FPSDefault: ti2vFPS, FPSMin: ti2vFPS, FPSMax: ti2vFPS,
			FramesMax: ti2vFramesMax, FramesStep: latentFrames,
			SecondsMax: ti2vFramesMax/ti2vFPS + 1, SecondsDefault: ti2vFramesMax / ti2vFPS,
			ChunkFrames: laterChunkFrames, FirstChunkFrames: firstChunkFrames,
		},
		Parameters:  filmParameters(1),
		SessionsMax: 1, BatchOnly: true,
		Device: contract.DeviceNeeds{GPUs: 1},
	}
}
