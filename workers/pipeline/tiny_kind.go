package pipeline

import (
	"telefuser/workers/contract"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
	"telefuser/workers/models/world"
)

// The pictures of tiny-world.
const (
	tinyName   = "tiny-world"
	tinyWidth  = 160
	tinyHeight = 96
	tinyFPS    = 16
)

// tinyKind is a small world model of our own.
func tinyKind() worldKind {
	const shift, steps = 5, 4
	return worldKind{
		contract: tinyContract(),
		shape: modelShape{
			name: tinyName, folders: []string{tinyName}, transformers: []weights.Part{weights.PartDiT}, dit: weights.TinyDiT(), vae: weights.TinyVAE(),
		},
		steps: tinySteps(), latents: chunkLatents, schedule: func() (sigmas, times []float64, err error) { return wan.Sigmas(shift, steps), nil, nil }, settle: 8,
		words: tinyWords(), draws: true, tours: true, keeps: keepsWindow,
	}
}

// tinySteps are the camera's: a degree of yaw and half a degree of pitch a frame, within the pitch that the model was trained on.
func tinySteps() world.Steps {
	return world.Steps{
		Move: 0.10, Lateral: 0.10, Yaw: 1 * world.Degree, Pitch: 0.5 * world.Degree,
		Tilt: -0.12, PitchMin: -31 * world.Degree, PitchMax: 17 * world.Degree,
	}
}

// tinyContract is what tiny-world accepts.
func tinyContract() contract.Contract {
	none := []string{}
	four := float64(chunkLatents)
	task := func(name string, required []string) contract.Task {
		return contract.Task{Name: name, MediaType: "video/mp4", RequiredInputs: required, OptionalInputs: none}
	}
	return contract.Contract{
		Name: tinyName, Version: "1", OwnedBy: "telefuser", CreatedAtUnix: 1796083200,
		Tasks: []contract.Task{
			task(contract.TaskTextToVideo, []string{"prompt"}), task(contract.TaskImageToVideo, []string{"prompt", "input_reference"}),
			task(contract.TaskExtend, []string{"prompt", "video"}),
		},
		Geometry: contract.Geometry{
			DefaultWidth: tinyWidth, DefaultHeight: tinyHeight,
			WidthMin: tinyWidth, HeightMin: tinyHeight, SideMax: tinyWidth, PixelsMax: tinyWidth * tinyHeight, SideMultiple: 32,
			FPSDefault: tinyFPS, FPSMin: tinyFPS, FPSMax: tinyFPS,
			FramesMax: 60*tinyFPS + 1, FramesStep: latentFrames,
			SecondsMax: 60, SecondsDefault: 4,
			ChunkFrames: laterChunkFrames, FirstChunkFrames: firstChunkFrames,
		},
		Parameters: []contract.Parameter{
			{Name: "seed", Type: contract.TypeInteger, Description: "Chooses the noise, and with the prompt the first picture where there is none; random where it is absent, and 0 is a seed."},
			{Name: "chunk_size", Type: contract.TypeInteger, Min: &four, Max: &four, Description: "Latent frames that are made together: always 4, for the model was trained so."},
		},
		Camera: true, SessionsMax: 4,
		Device: contract.DeviceNeeds{CPU: true},
	}
}
