package pipeline

import (
	"telefuser/workers/contract"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
	"telefuser/workers/models/world"
)

// The pictures of LingBot-World.
const (
	lingbotWidth  = 832
	lingbotHeight = 480
	lingbotFPS    = 16
	// lingbotSettle is how many latent frames the encoder's memory reaches: from then on the condition stays the same.
	lingbotSettle = 30
)

// lingbotDiT is the transformer of LingBot-World: Wan 14B with a camera in each block.
func lingbotDiT(local, sink int) weights.DiTConfig {
	c := wan14B(36)
	c.Control, c.Local, c.Sink = weights.Camera, local, sink
	return c
}

// wan14B is the transformer of Wan 14B with so many channels in.
func wan14B(in int) weights.DiTConfig {
	return weights.DiTConfig{
		Dim: 5120, FFN: 13824, Layers: 40, Heads: 40, In: in, Out: 16, Patch: [3]int{1, 2, 2}, TextDim: 4096, TextLen: 512, Freq: 256,
		Local: -1, Eps: 1e-6,
	}
}

// lingbotShape is where the weights lie; others are the models whose VAE and text encoder are the same.
func lingbotShape(name string, dit weights.DiTConfig, folders ...string) modelShape {
	text := weights.UMT5XXL()
	return modelShape{
		name: name, folders: append([]string{name}, folders...), others: []string{"Wan2.2-I2V-A14B", "wan2.2-i2v-a14b"},
		transformers: []weights.Part{weights.PartDiT}, dit: dit, vae: weights.Wan21VAE(), text: &text,
	}
}

// lingbotV2Kind is LingBot-World v2: chunks of four latent frames, a window of 18 of which the first six stay, four steps.
func lingbotV2Kind() worldKind {
	const name, shift, latents = "lingbot-world-v2", 10, 4
	return worldKind{
		contract: lingbotContract(name, latents, 120),
		shape:    lingbotShape(name, lingbotDiT(18, 6), "lingbot/lingbot-world-v2-14b-causal-fast"),
		steps:    world.LingBotSteps(), latents: latents, schedule: trained(shift, 0, 250, 500, 750), settle: lingbotSettle,
		keeps: keepsPicture,
	}
}

// lingbotFastKind is LingBot-World-Fast: chunks of three latent frames, and keys of all that came before.
func lingbotFastKind() worldKind {
	const name, shift, latents, secondsMax = "lingbot-world-fast", 10, 3, 20
	steps := world.LingBotSteps()
	steps.Move, steps.Lateral, steps.Yaw, steps.Pitch = 0.05, 0.05, 2*world.Degree, 2*world.Degree
	return worldKind{
		contract: lingbotContract(name, latents, secondsMax),
		shape:    lingbotShape(name, lingbotDiT(-1, 0), "lingbot/lingbot-world-fast"),
		steps:    steps, latents: latents, schedule: trained(shift, 0, 179, 358, 679), settle: lingbotSettle,
		window: (secondsMax*lingbotFPS/latentFrames/latents + 1) * latents, keeps: keepsPicture,
	}
}

// trained are some of the steps of the schedule that a model was trained on.
func trained(shift float64, steps ...int) func() (sigmas, times []float64, err error) {
	return func() (sigmas, times []float64, err error) { return wan.TrainedSigmas(shift, steps...) }
}

// lingbotContract is what a LingBot-World model accepts.
func lingbotContract(name string, latents, secondsMax int) contract.Contract {
	size := float64(latents)
	return contract.Contract{
		Name: name, Version: "1", OwnedBy: "robbyant", CreatedAtUnix: 1796083200,
		Tasks: []contract.Task{
			{Name: contract.TaskImageToVideo, MediaType: "video/mp4", RequiredInputs: []string{"prompt", "input_reference"}, OptionalInputs: []string{}},
		},
		Geometry: contract.Geometry{
			DefaultWidth: lingbotWidth, DefaultHeight: lingbotHeight,
			WidthMin: lingbotWidth, HeightMin: lingbotHeight, SideMax: lingbotWidth, PixelsMax: lingbotWidth * lingbotHeight, SideMultiple: 16,
			FPSDefault: lingbotFPS, FPSMin: lingbotFPS, FPSMax: lingbotFPS,
			FramesMax: secondsMax*lingbotFPS + 1, FramesStep: latentFrames,
			SecondsMax: secondsMax, SecondsDefault: 5,
			ChunkFrames: latents * latentFrames, FirstChunkFrames: latents*latentFrames - latentFrames + 1,
		},
		Parameters: []contract.Parameter{
			{Name: "seed", Type: contract.TypeInteger, Description: "Chooses the noise; random where it is absent, and 0 is a seed."},
			{Name: "chunk_size", Type: contract.TypeInteger, Min: &size, Max: &size, Description: "Latent frames that are made together: always the number that the model was trained with."},
		},
		Camera: true, SessionsMax: 4,
		Device: contract.DeviceNeeds{GPUs: 1},
	}
}
