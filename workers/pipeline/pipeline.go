package pipeline

import (
	"context"

	"telefuser/workers/contract"
	"telefuser/workers/media"
)

// Pipeline is one loaded model on one device group. Its methods are called from one goroutine at a time, sessions excepted.
type Pipeline interface {
	// Contract says what the pipeline accepts. It needs no loading.
	Contract() contract.Contract
	// Load brings the weights in and warms the pipeline up; report is called with a share in 0..1.
	Load(ctx context.Context, report func(share float64)) error
	// Open starts a session. It fails with ErrInvalid (wrapped) when the request breaks the contract.
	Open(ctx context.Context, req Request) (Session, error)
	// Close frees everything. Sessions must be closed before.
	Close() error
}

// Session is one run of a pipeline, batch or live.
type Session interface {
	// Control feeds a live session; the newest wins. It takes effect at the next chunk border. A session that goes on from a live one's state holds the
	// keys that were held.
	Control(ctx context.Context, c Control) error
	// Next makes the next chunk. It answers io.EOF after the last one of a bounded request.
	Next(ctx context.Context) (Chunk, error)
	// Close frees the session's state.
	Close() error
}

// Mover is a Session whose chunks may take long to make. While one is made, it calls what it was told last, each time that the work has moved, from any
// goroutine, with the share 0..1 of the whole request's work that is done; OnMove is called before the first Next.
type Mover interface {
	OnMove(moved func(share float64))
}

// Request is everything that a run depends on. The same request gives the same bytes.
type Request struct {
	// Task is one of contract's Task names.
	Task string `json:"task"`
	// Prompt describes the world; StylePrompt, where it is not empty, changes its look and keeps its shape (remix and edit).
	Prompt      string `json:"prompt"`
	StylePrompt string `json:"style_prompt,omitempty"`
	// Width and Height are in pixels, FPS in frames a second, Frames the number of frames to deliver; 0 frames means a live session.
	Width  int   `json:"width"`
	Height int   `json:"height"`
	FPS    int   `json:"fps"`
	Frames int   `json:"frames"`
	Seed   int64 `json:"seed"`
	// Image is the reference picture of Width x Height, or nil.
	Image *media.Image `json:"image,omitempty"`
	// Camera is the scripted flight, or nil for the pipeline's own.
	Camera *Camera `json:"camera,omitempty"`
	// Parameters are the contract's extension fields by canonical name.
	Parameters map[string]any `json:"parameters,omitempty"`
	// State is the State of the last chunk of the video that this one continues, or nil.
	State []byte `json:"state,omitempty"`
	// NewFrame makes a frame to draw into, whose bytes are anything; nil is media.NewFrame. What it makes and no chunk holds is taken back
	// when the session is closed.
	NewFrame func(width, height int) media.Frame `json:"-"`
}

// newFrame makes a frame of the request's size to draw into; its bytes are anything.
func (r Request) newFrame() media.Frame {
	if r.NewFrame == nil {
		return media.NewFrame(r.Width, r.Height)
	}
	return r.NewFrame(r.Width, r.Height)
}

// The camera's types are the contract's, so that a request can be checked without a pipeline.
type (
	// Camera is a scripted flight: either timed key sets or poses.
	Camera = contract.Camera
	// TimedControl holds keys from a moment on.
	TimedControl = contract.TimedControl
	// Pose is a camera position in world units and its angles in radians.
	Pose = contract.Pose
)

// Control is one change of a live session. Nil fields keep what is.
type Control struct {
	// ID is the sender's name for it, echoed with the chunk that it took effect in.
	ID string `json:"id,omitempty"`
	// Keys is the set of keys held from now on, of "wasdijkl".
	Keys *string `json:"keys,omitempty"`
	// Prompt changes the world's look from the next chunk on.
	Prompt *string `json:"prompt,omitempty"`
	// Pose puts the camera somewhere.
	Pose *Pose `json:"pose,omitempty"`
	// Path leads the camera through at most PathPosesMax poses, in order, one for each latent interval of four frames, from where it is; the first
	// frame of a session is an interval of its own. Held keys move the camera again after the last one. Of Pose, Path and Reset the newest wins, also
	// over a path that is under way.
	Path []Pose `json:"path,omitempty"`
	// Reset goes back to the first pose.
	Reset bool `json:"reset,omitempty"`
}

// Chunk is frames made together and the facts of their making.
type Chunk struct {
	Index  int
	Frames []media.Frame
	// Sound is what is heard while the frames are shown; nil where there is none. A pipeline has it in every chunk of a session or in none.
	Sound *media.Sound
	// Applied is the snapshot of controls that the chunk was made with.
	Applied Applied
	// Stages are durations in nanoseconds on the monotonic clock, device-synchronised at their edges.
	Stages []StageFact
	// Timing is what the stage scheduler saw of the chunk; nil for a pipeline that does not run on it.
	Timing *Timing
	// State lets a later request continue from the end of this chunk; nil where the pipeline cannot.
	State []byte
}

// Applied is what a chunk was made with.
type Applied struct {
	// ControlIDs are the controls that took effect at this chunk.
	ControlIDs []string `json:"control_ids,omitempty"`
	Keys       string   `json:"keys"`
	Pose       Pose     `json:"pose"`
}

// StageFact is one stage's time within one chunk. CPUNS is the processor time of its work in this process, on all threads and by their own clocks; 0 where it is
// not measured.
type StageFact struct {
	Name       string `json:"name"`
	DurationNS int64  `json:"duration_ns"`
	CPUNS      int64  `json:"cpu_ns"`
}
