package pipeline

import (
	"telefuser/workers/contract"
	"telefuser/workers/models/weights"
)

// The lengths of Wan's videos.
const (
	wanFPS       = 16
	wanFramesMax = 81 // those of its training
)

// wanContract is what a Wan model accepts.
func wanContract(name string, dit weights.DiTConfig, scales int, large bool) contract.Contract {
	task := contract.Task{Name: contract.TaskTextToVideo, MediaType: "video/mp4", RequiredInputs: []string{"prompt"}, OptionalInputs: []string{}}
	if dit.In > dit.Out {
		task.Name, task.RequiredInputs = contract.TaskImageToVideo, append(task.RequiredInputs, "input_reference")
	}
	side, pixels := 832, 832*480
	if large {
		side, pixels = 1280, 1280*720
	}
	return contract.Contract{
		Name: name, Version: "1", OwnedBy: "wan-ai", CreatedAtUnix: 1796083200,
		Tasks: []contract.Task{task},
		Geometry: contract.Geometry{
			DefaultWidth: 832, DefaultHeight: 480,
			WidthMin: 480, HeightMin: 480, SideMax: side, PixelsMax: pixels, SideMultiple: 16, Sizes: wanSizes(large),
			FPSDefault: wanFPS, FPSMin: wanFPS, FPSMax: wanFPS,
			FramesMax: wanFramesMax, FramesStep: latentFrames,
			SecondsMax: wanFramesMax/wanFPS + 1, SecondsDefault: wanFramesMax / wanFPS,
			ChunkFrames: laterChunkFrames, FirstChunkFrames: firstChunkFrames,
		},
		Parameters:  filmParameters(scales),
		SessionsMax: 1, BatchOnly: true,
		Device: contract.DeviceNeeds{GPUs: 1},
	}
}

// The names of a film's parameters.
const (
	paramSteps    = "num_inference_steps"
	paramScale    = "guidance_scale"
	paramScaleLow = "guidance_scale_2"
	paramShift    = "flow_shift"
	paramNegative = "negative_prompt"
)

// negativeBytesMax bounds a negative prompt.
const negativeBytesMax = 16 << 10

// filmParameters are the fields that every model of whole videos takes; a model with two transformers has two scales.
func filmParameters(scales int) []contract.Parameter {
	bound := func(value float64) *float64 { return &value }
	all := []contract.Parameter{
		{Name: "seed", Type: contract.TypeInteger, Description: "Chooses the noise; random where it is absent, and 0 is a seed."},
		{Name: paramNegative, Type: contract.TypeString, LengthMax: negativeBytesMax, Description: "What the video is led away from; nothing where it is absent."},
		{Name: paramSteps, Aliases: []string{"steps", "step"}, Type: contract.TypeInteger, Min: bound(1), Max: bound(200), Description: "Steps from noise to video; as many as the model's authors take where it is absent."},
		{Name: paramScale, Aliases: []string{"cfg_scale"}, Type: contract.TypeNumber, Min: bound(0), Max: bound(20), Description: "How far the prompt leads, in front of the negative one; 1 takes half the time, for nothing leads away then. The model's own where it is absent."},
		{Name: paramShift, Type: contract.TypeNumber, Min: bound(1), Max: bound(100), Description: "How long the steps stay with much noise; the model's own where it is absent."},
	}
	if scales > 1 {
		all = append(all, contract.Parameter{Name: paramScaleLow, Type: contract.TypeNumber, Min: bound(0), Max: bound(20), Description: "The same for the steps with little noise, which have a transformer of their own."})
	}
	return all
}
