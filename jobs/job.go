package jobs

import "time"

// State is where a job stands. The four values are also the wire's.
type State string

// The states. A job moves queued -> in_progress -> completed | failed, and back from in_progress to queued only at a new attempt.
const (
	StateQueued     State = "queued"
	StateInProgress State = "in_progress"
	StateCompleted  State = "completed"
	StateFailed     State = "failed"
)

// Terminal says whether the state is never left again.
func (s State) Terminal() bool { return s == StateCompleted || s == StateFailed }

// Priority orders the jobs of one tenant among each other; it takes nothing from another tenant. Each step is worth PriorityStep of waiting, so that no job waits for ever.
type Priority string

// The priorities. An empty one is normal.
const (
	PriorityHigh   Priority = "high"
	PriorityNormal Priority = "normal"
	PriorityLow    Priority = "low"
)

func (p Priority) valid() bool {
	return p == "" || p == PriorityHigh || p == PriorityNormal || p == PriorityLow
}

// offset is by how much later a job counts as made.
func (p Priority) offset(step time.Duration) time.Duration {
	switch p {
	case PriorityHigh:
		return -step
	case PriorityLow:
		return step
	case PriorityNormal:
	}
	return 0
}

// Spec is what was asked for. It never changes after Create.
type Spec struct {
	// Pipeline is the pipeline that runs the job; Model is the name that the client used for it.
	Pipeline string `json:"pipeline"`
	Model    string `json:"model"`
	// Task is one of the contract's task names.
	Task   string `json:"task"`
	Prompt string `json:"prompt"`
	// WorldPrompt is, for remixes, edits and extensions, the prompt that the source's world was made from.
	WorldPrompt string `json:"world_prompt,omitempty"`
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	FPS         int    `json:"fps"`
	// Frames is the number of frames to make; for an extension that of the new segment alone.
	Frames int   `json:"frames"`
	Seed   int64 `json:"seed"`
	// Seconds is the wire's text for the length of the whole result.
	Seconds string `json:"seconds"`
	// Parameters are the contract's extension fields, Camera the scripted flight as JSON.
	Parameters map[string]any `json:"parameters,omitempty"`
	Camera     []byte         `json:"camera,omitempty"`
	// Priority is the client's; empty is normal.
	Priority Priority `json:"priority,omitempty"`
	// ImageKey is the storage key of the reference picture (PNG, already of the video's size).
	ImageKey string `json:"image_key,omitempty"`
	// Source is the video that this one is made from.
	Source *Source `json:"source,omitempty"`
	// Metadata is the client's, echoed as it came.
	Metadata map[string]string `json:"metadata,omitempty"`
	// RequestID ties the job's log lines to the request that made it.
	RequestID string `json:"request_id,omitempty"`
	// TraceParent is the request's place in its trace, as the header of this name; empty where nobody traces.
	TraceParent string `json:"trace_parent,omitempty"`
}

// Source names a completed video of the same tenant that a remix, an edit or an extension starts from.
type Source struct {
	ID string `json:"id"`
	// VideoKey is its file and State its pipeline state at the end, both as they were when the job was accepted.
	VideoKey string `json:"video_key"`
	State    []byte `json:"state,omitempty"`
	Frames   int    `json:"frames"`
	// Extensions is how many extensions the source is the result of, so that a chain can be bounded.
	Extensions int `json:"extensions,omitempty"`
	// Weights is that of the source's Facts: what goes on from pictures that mean nothing holds them still.
	Weights string `json:"weights,omitempty"`
}

// Result is what a completed job left in the store.
type Result struct {
	VideoKey       string `json:"video_key"`
	ThumbnailKey   string `json:"thumbnail_key"`
	SpritesheetKey string `json:"spritesheet_key"`
	ManifestKey    string `json:"manifest_key"`
	SizeBytes      int64  `json:"size_bytes"`
	SHA256         string `json:"sha256"`
	// Frames is the number of frames in the file, Seconds its length as the wire's text.
	Frames  int    `json:"frames"`
	Seconds string `json:"seconds"`
	// State lets an extension continue from the end; nil where the pipeline cannot.
	State []byte `json:"state,omitempty"`
	Facts Facts  `json:"facts"`
}

// Facts are measured durations (nanoseconds, monotonic) and sizes; nil means unknown.
type Facts struct {
	QueueNS         *int64           `json:"queue_ns,omitempty"`
	LoadNS          *int64           `json:"load_ns,omitempty"`
	InferenceNS     *int64           `json:"inference_ns,omitempty"`
	EncodeNS        *int64           `json:"encode_ns,omitempty"`
	StoreNS         *int64           `json:"store_ns,omitempty"`
	PeakMemoryBytes *int64           `json:"peak_memory_bytes,omitempty"`
	StagesNS        map[string]int64 `json:"stages_ns,omitempty"`
	Device          string           `json:"device,omitempty"`
	// Weights is random:SEED where the pictures mean nothing, for the model's weights come from a seed; else it is empty.
	Weights string `json:"weights,omitempty"`
	// Devices are those that made the video; none on the processor. Phases is what was read of them while a phase lasted, in the same order:
	// "loading", of the engine, which may have been for an earlier job, and "generating".
	Devices []DeviceFacts            `json:"devices,omitempty"`
	Phases  map[string][]DevicePhase `json:"phases,omitempty"`
}

// DeviceFacts is one device. Nil means unknown.
type DeviceFacts struct {
	Name          *string `json:"name"`
	UUID          *string `json:"uuid"`
	DriverVersion *string `json:"driver_version"`
	CUDAVersion   *string `json:"cuda_version"`
	MemoryBytes   *uint64 `json:"memory_bytes"`
}

// DevicePhase is what was read of one device during a phase: means of clocks, power and use, the most of temperature and memory. Nil means
// unknown.
type DevicePhase struct {
	Readings           int      `json:"readings"`
	SMClockMHz         *float64 `json:"sm_clock_mhz"`
	MemoryClockMHz     *float64 `json:"memory_clock_mhz"`
	PowerWatts         *float64 `json:"power_watts"`
	UtilizationPercent *float64 `json:"utilization_percent"`
	TemperatureCelsius *uint32  `json:"temperature_celsius"`
	// MemoryUsedBytes is what all processes held of the device, EnginePeakBytes what the engine had allocated, OverheadBytes what the driver
	// held for it on top.
	MemoryUsedBytes *uint64 `json:"memory_used_bytes"`
	EnginePeakBytes *int64  `json:"engine_peak_bytes"`
	OverheadBytes   *int64  `json:"overhead_bytes"`
}

// Failure is what a client may read about a failed job: a chosen code and a chosen sentence, never an error's own text.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The failure codes that clients meet.
const (
	CodeCancelled     = "cancelled"
	CodeOutOfMemory   = "gpu_out_of_memory"
	CodeWorkerCrashed = "worker_crashed"
	CodeStalled       = "stalled"
	CodeDeadline      = "deadline_exceeded"
	CodeQueueTimeout  = "queue_timeout"
	CodeInvalid       = "invalid_request"
	CodeSourceMissing = "source_missing"
	CodeStorage       = "insufficient_storage"
	CodeInternal      = "internal_error"
)

// Job is one record, read whole.
type Job struct {
	ID     string
	Tenant string
	State  State
	// Attempt counts the claims so far; it is the fence of every write.
	Attempt  int
	Revision int64
	// Progress is 0..100, and 100 only when completed. Phase is what the worker is doing: loading, generating, encoding, storing.
	Progress int
	Phase    string
	// CreatedAt, StartedAt, CompletedAt and ExpiresAt are by the clock of Redis; zero means not yet.
	CreatedAt   time.Time
	StartedAt   time.Time
	CompletedAt time.Time
	ExpiresAt   time.Time
	// Owner is the worker that holds the current attempt.
	Owner   string
	Spec    Spec
	Result  *Result
	Failure *Failure
}
