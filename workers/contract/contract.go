package contract

// Contract describes one pipeline to everybody who must not import it.
type Contract struct {
	// Name is the pipeline's name, such as "terrain". Aliases are further model names that clients may use for it.
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	// Version changes whenever the same request would give other bytes.
	Version string `json:"version"`
	// OwnedBy and CreatedAtUnix are what /v1/models shows.
	OwnedBy       string `json:"owned_by"`
	CreatedAtUnix int64  `json:"created_at"`
	// Tasks are what it can do, in the order of preference.
	Tasks []Task `json:"tasks"`
	// Geometry holds the rules of size, rate and length.
	Geometry Geometry `json:"geometry"`
	// Parameters are the extension fields that it accepts, by canonical name.
	Parameters []Parameter `json:"parameters"`
	// Camera is whether the timed `camera` field is accepted.
	Camera bool `json:"camera"`
	// BatchOnly is whether it makes whole videos only, and no live sessions.
	BatchOnly bool `json:"batch_only,omitempty"`
	// SessionsMax is how many sessions one engine can hold at once; 1 where it cannot share.
	SessionsMax int `json:"sessions_max"`
	// Device says what it needs to run.
	Device DeviceNeeds `json:"device"`
	// Weights is random:SEED where an engine was told to make its weights from a seed, so that its pictures mean nothing; else it is empty.
	Weights string `json:"weights,omitempty"`
}

// Task is one kind of request.
type Task struct {
	// Name is one of the Task* constants.
	Name string `json:"name"`
	// MediaType of the result, "video/mp4" for all tasks of today.
	MediaType string `json:"media_type"`
	// RequiredInputs and OptionalInputs name the inputs, such as "prompt" and "input_reference".
	RequiredInputs []string `json:"required_inputs"`
	OptionalInputs []string `json:"optional_inputs"`
}

// The names of tasks.
const (
	TaskTextToVideo  = "t2v"
	TaskImageToVideo = "i2v"
	TaskRemix        = "remix"
	TaskEdit         = "edit"
	TaskExtend       = "extend"
)

// Geometry bounds a request in space and time. Frames are 4n+1 while a model works; a length in seconds is cut to exactly
// seconds x fps frames when it is encoded.
type Geometry struct {
	// DefaultWidth and DefaultHeight are used when a request names the pipeline itself and no size.
	DefaultWidth  int `json:"default_width"`
	DefaultHeight int `json:"default_height"`
	// WidthMin, HeightMin and SideMax bound each side in pixels, PixelsMax their product; SideMultiple divides both sides.
	WidthMin     int `json:"width_min"`
	HeightMin    int `json:"height_min"`
	SideMax      int `json:"side_max"`
	PixelsMax    int `json:"pixels_max"`
	SideMultiple int `json:"side_multiple"`
	// Sizes are the only ones that the pipeline takes, as "WIDTHxHEIGHT" and best first; none means every size within the bounds.
	Sizes []string `json:"sizes,omitempty"`
	// FPSDefault, FPSMin and FPSMax bound the whole-numbered frame rate.
	FPSDefault int `json:"fps_default"`
	FPSMin     int `json:"fps_min"`
	FPSMax     int `json:"fps_max"`
	// FramesMax bounds the length; FramesStep is n in "n*k+1" for an explicit num_frames.
	FramesMax  int `json:"frames_max"`
	FramesStep int `json:"frames_step"`
	// SecondsMax bounds the length in seconds; SecondsDefault is used when nothing names one.
	SecondsMax     int `json:"seconds_max"`
	SecondsDefault int `json:"seconds_default"`
	// ChunkFrames is how many frames are made together; FirstChunkFrames is the length of the first chunk.
	ChunkFrames      int `json:"chunk_frames"`
	FirstChunkFrames int `json:"first_chunk_frames"`
}

// DeviceNeeds says where a pipeline runs.
type DeviceNeeds struct {
	// CPU is whether it runs without a GPU.
	CPU bool `json:"cpu"`
	// GPUs is how many devices one engine wants; 0 where none is needed.
	GPUs int `json:"gpus"`
	// MemoryBytes is the device memory that one engine needs; nil where it is not known.
	MemoryBytes *int64 `json:"memory_bytes"`
}

// Parameter is one typed extension field.
type Parameter struct {
	// Name is the canonical field name, Aliases the other spellings that are accepted.
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	// Type is one of the Type* constants.
	Type        string `json:"type"`
	Description string `json:"description"`
	// Default is what an absent field means; nil where there is none (a random seed, say).
	Default any `json:"default"`
	// Min and Max bound numbers, both inclusive; LengthMax bounds strings in bytes; Enum lists the allowed strings.
	Min       *float64 `json:"min,omitempty"`
	Max       *float64 `json:"max,omitempty"`
	LengthMax int      `json:"length_max,omitempty"`
	Enum      []string `json:"enum,omitempty"`
	// Live is whether only live sessions take it.
	Live bool `json:"live,omitempty"`
}

// The types of parameters.
const (
	TypeInteger = "integer"
	TypeNumber  = "number"
	TypeString  = "string"
	TypeBoolean = "boolean"
	// TypeObject is a JSON tree with rules of its own; camera is the only one.
	TypeObject = "object"
)
