package streaming

import "time"

// Status is where a session stands. The values are the wire's.
type Status string

// The statuses. Closed, failed and expired are terminal and never left.
const (
	StatusQueued           Status = "queued"
	StatusAssigned         Status = "assigned"
	StatusJoiningRoom      Status = "joining_room"
	StatusStartingPipeline Status = "starting_pipeline"
	StatusRunning          Status = "running"
	StatusDraining         Status = "draining"
	StatusClosed           Status = "closed"
	StatusFailed           Status = "failed"
	StatusExpired          Status = "expired"
)

// Terminal says whether the status is never left again.
func (s Status) Terminal() bool { return s == StatusClosed || s == StatusFailed || s == StatusExpired }

// Delivery says what happens to frames that the publisher cannot keep up with.
type Delivery string

// The deliveries. Latest drops the oldest and counts; lossless holds the source back until the client has confirmed.
const (
	DeliveryLatest   Delivery = "latest"
	DeliveryLossless Delivery = "lossless"
)

// The outcomes of a lossless delivery: the client counted at least what was published, it counted less, it did not answer in time.
const (
	OutcomeVerified = "verified"
	OutcomeShort    = "short"
	OutcomeTimeout  = "timeout"
)

// Spec is what was asked for. It never changes after Create.
type Spec struct {
	Pipeline string `json:"pipeline"`
	Prompt   string `json:"prompt"`
	// Width and Height are in pixels, FPS in frames a second; Frames bounds the session, 0 does not.
	Width  int   `json:"width"`
	Height int   `json:"height"`
	FPS    int   `json:"fps"`
	Frames int   `json:"frames"`
	Seed   int64 `json:"seed"`
	// ImageKey is the storage key of the reference picture (PNG, already of the session's size).
	ImageKey string   `json:"image_key,omitempty"`
	Delivery Delivery `json:"delivery"`
	// Controller is the identity of the only participant that is obeyed.
	Controller string `json:"controller"`
	// Parameters are the contract's extension fields.
	Parameters map[string]any `json:"parameters,omitempty"`
	// TraceParent places the session in the trace of the request that made it; empty where nobody traces.
	TraceParent string `json:"trace_parent,omitempty"`
	// ControlIdleTimeout is how long after its last control a session still counts as active; after it the session gives the model up to whoever is. 0 means
	// always active. SessionTimeout ends the session, counted from its first claim; 0 takes the store's.
	ControlIdleTimeout time.Duration `json:"control_idle_timeout"`
	SessionTimeout     time.Duration `json:"session_timeout"`
}

// Session is one record, read whole. Times are by the clock of Redis; zero means not yet.
type Session struct {
	ID     string
	Tenant string
	Status Status
	// Epoch counts the claims so far; it is the fence of every write.
	Epoch int
	// Position is the 1-based place in the queue; 0 when it does not wait.
	Position int
	// Room is random and never used again. Worker owns the current epoch.
	Room   string
	Worker string
	Spec   Spec
	// Reason says why a terminal session ended: one of the Reason constants. Message is a sentence for people.
	Reason  string
	Message string
	// State lets another worker go on where this one stopped; nil where the pipeline cannot.
	State []byte
	// Participants is how many clients are in the room; nil when unknown.
	Participants *int
	CreatedAt    time.Time
	UpdatedAt    time.Time
	StartedAt    time.Time
	EndedAt      time.Time
	ExpiresAt    time.Time
	// Outcome is what became of a lossless delivery, one of the Outcome constants; empty otherwise.
	Outcome string
	Facts   Facts
}

// Facts are raw counts and durations of one session; nil means unknown.
type Facts struct {
	GeneratedFrames int64 `json:"generated_frames"`
	PublishedFrames int64 `json:"published_frames"`
	DroppedFrames   int64 `json:"dropped_frames"`
	Chunks          int64 `json:"chunks"`
	// CompletedFrames are the frames of the chunks that State comes after: those a later owner does not make again.
	CompletedFrames int64  `json:"completed_frames"`
	ConfirmedFrames *int64 `json:"confirmed_frames,omitempty"`
	// FirstFrameNS is from the claim to the first published frame, monotonic.
	FirstFrameNS *int64 `json:"first_frame_ns,omitempty"`
	EncodeNS     *int64 `json:"encode_ns,omitempty"`
	// HeldKeys are the keys that the controller holds, so that another owner goes on with them.
	HeldKeys string `json:"held_keys,omitempty"`
}
