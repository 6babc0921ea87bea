package pipeline

import "telefuser/workers/contract"

// terrainDeviceBytes is what an engine takes of a device that it is given, at most: the context and the work space for the largest picture,
// as measured with one session (docs/benchmarks-gpu.md), and the map of seven sessions more.
const terrainDeviceBytes = 1640 << 20

// terrainContract is what the terrain renderer accepts.
func terrainContract() contract.Contract {
	bound := func(value float64) *float64 { return &value }
	memory := int64(terrainDeviceBytes)
	return contract.Contract{
		Name: "terrain", Version: "2", OwnedBy: "telefuser", CreatedAtUnix: 1795996800,
		Tasks: terrainTasks(),
		Geometry: contract.Geometry{
			DefaultWidth: 832, DefaultHeight: 480,
			WidthMin: 64, HeightMin: 64, SideMax: 1920, PixelsMax: 1920 * 1088, SideMultiple: 2,
			FPSDefault: 16, FPSMin: 1, FPSMax: 60,
			FramesMax: 120*30 + 1, FramesStep: 4,
			SecondsMax: 120, SecondsDefault: 4,
			ChunkFrames: 16, FirstChunkFrames: 13,
		},
		Parameters: []contract.Parameter{
			{Name: "seed", Type: contract.TypeInteger, Description: "Chooses the world together with the prompt; random where it is absent, and 0 is a seed."},
			{Name: "altitude", Type: contract.TypeNumber, Min: bound(0.25), Max: bound(4), Description: "Height of the flight over the ground, as a multiple of the usual one; 1 where it is absent, and in a continued flight what it was."},
			{Name: "speed", Type: contract.TypeNumber, Min: bound(0), Max: bound(8), Description: "Speed of all movement, as a multiple of the usual one; 1 where it is absent, and in a continued flight what it was."},
			{Name: "time_of_day", Type: contract.TypeNumber, Min: bound(0), Max: bound(24), Description: "Hour that sets sun and light, 0 to 24; chosen by the prompt where it is absent."},
			{Name: "chunk_size", Type: contract.TypeInteger, Min: bound(1), Max: bound(chunkLatentsMax), Description: "Latent frames that are made together, of four frames each; 4 where it is absent, and 1 in a live session without an end, whose controls act at the borders of chunks."},
			{Name: "sound", Type: contract.TypeBoolean, Live: true, Description: "Whether a live session has sound: the wind of the flight."},
		},
		Camera: true, SessionsMax: 8,
		Device: contract.DeviceNeeds{CPU: true, MemoryBytes: &memory},
	}
}

func terrainTasks() []contract.Task {
	task := func(name string, required, optional []string) contract.Task {
		return contract.Task{Name: name, MediaType: "video/mp4", RequiredInputs: required, OptionalInputs: optional}
	}
	none := []string{}
	return []contract.Task{
		task(contract.TaskTextToVideo, []string{"prompt"}, none),
		task(contract.TaskImageToVideo, []string{"prompt", "input_reference"}, none),
		task(contract.TaskRemix, []string{"prompt", "video"}, none),
		task(contract.TaskEdit, []string{"prompt", "video"}, none),
		task(contract.TaskExtend, []string{"prompt", "video"}, none),
	}
}
