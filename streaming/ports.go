package streaming

import (
	"context"
	"time"

	"telefuser/workers/media"
)

// Chunk is frames made together and what they were made with.
type Chunk struct {
	Index  int
	Frames []media.Frame
	// Sound is what is heard while the frames are shown; nil where there is none.
	Sound *media.Sound
	// ControlIDs are the controls that took effect in it, Keys the keys that were held, Pose where it ended.
	ControlIDs []string
	Keys       string
	Pose       Pose
	// StagesNS are durations in nanoseconds on the monotonic clock, synchronised with the device.
	StagesNS map[string]int64
	// Timing is what the source's stage scheduler saw of it; nil where there is none.
	Timing *Timing
	// State lets a later owner continue after this chunk; nil where the pipeline cannot.
	State []byte
}

// Source is one session on an engine. Next and Control are never called at the same time.
type Source interface {
	// Next makes the next chunk; io.EOF after the last of a bounded session. The frames belong to the caller.
	Next(ctx context.Context) (Chunk, error)
	// Control feeds one change, which takes effect in the next chunk; its ID comes back in that chunk's ControlIDs. The ids of controls that a newer one
	// replaced need not come back. ErrBadControl (wrapped) refuses this control alone.
	Control(ctx context.Context, c Control) error
	// Close frees the session's state. It is called once.
	Close() error
}

// Engine opens sources. Its implementation is the engine supervisor, plugged in by the program.
type Engine interface {
	// Open starts s, from s.State when there is one; s.Facts.CompletedFrames of a bounded session are done then. ErrEngineLost (wrapped), here and
	// from a Source, says that the engine's process died, so that the session may go on elsewhere; every other error is the session's own end.
	Open(ctx context.Context, s Session) (Source, error)
	// Ready answers nil while an engine is loaded.
	Ready() error
}

// Rooms is the media server as an operator sees it.
type Rooms interface {
	// Create makes the room before anybody is told of it; Delete ends it for everybody in it. Both are idempotent.
	Create(ctx context.Context, room string) error
	Delete(ctx context.Context, room string) error
	// Join enters the room as the publisher of an epoch; a newer epoch's join puts the older one out. The publisher's first events name everybody who is
	// there already. The picture's track need not be published before WaitSubscribed or the first WriteFrame.
	Join(ctx context.Context, j Join) (Publisher, error)
	// Token lets one identity in, with nothing but its role's rights, for ttl.
	Token(room, identity string, role Role, ttl time.Duration) (string, error)
	// URL is what clients connect to.
	URL() string
	// Check answers nil when the server can be reached and rooms are not made by whoever joins.
	Check(ctx context.Context) error
}

// Role is what a participant may do.
type Role string

// The roles. A controller may send control messages; a viewer may only watch.
const (
	RoleController Role = "controller"
	RoleViewer     Role = "viewer"
)

// Join describes a publisher's entry.
type Join struct {
	SessionID string
	Room      string
	Epoch     int
	// Controller is the identity whose control messages are handed on; all others are dropped and counted.
	Controller           string
	Width, Height, FPS   int
	BitrateBitsPerSecond int
}

// Publisher is one joined room. WriteFrame and WriteSound are called by one goroutine, the rest by any.
type Publisher interface {
	// WaitSubscribed publishes the picture's track and returns when identity receives it.
	WaitSubscribed(ctx context.Context, identity string) error
	// WriteFrame encodes one frame now and sends it a constant time after its moment, at once where that has passed: what encoding takes does not show in the
	// cadence. It returns when the frame is sent and answers what the encoder took.
	WriteFrame(ctx context.Context, f media.Frame, pts time.Duration, at time.Time) (Encoding, error)
	// WriteSound takes what is heard from now on, and sends it while it is. It does not wait; what cannot be sent is lost. The first call, which may have no
	// samples, publishes the sound's track. pts is on WriteFrame's clock: a step in it is a step in what is heard.
	WriteSound(s media.Sound, pts time.Duration) error
	// Send publishes one message on a topic; reliable ones arrive in order.
	Send(ctx context.Context, topic string, payload []byte, reliable bool) error
	// Events are what happens in the room; the channel is closed when the room is lost or left, after EventLost, EventRoomDeleted or EventReplaced where
	// one of them is why. It is bounded: control messages beyond it are dropped and counted, the other events never are.
	Events() <-chan Event
	// Close leaves the room.
	Close() error
}

// Encoding is what the encoder took for a frame: Took on the clock, CPU of the processor, 0 where that is not measured.
type Encoding struct{ Took, CPU time.Duration }

// Event is one thing that happened in a room.
type Event struct {
	// Kind is one of the Event constants.
	Kind string
	// Identity of the participant, Payload of a control message.
	Identity string
	Payload  []byte
	// Dropped is how many control messages were dropped since the last event, because they came too fast or from somebody else.
	Dropped int
}

// The kinds of events.
const (
	// EventControl is a message of the controller's on TopicControl.
	EventControl = "control"
	// EventJoined and EventLeft are clients who come and go; publishers of ours are none.
	EventJoined = "joined"
	EventLeft   = "left"
	// EventAway says that the connection is away for the moment, so that nobody sees anything; EventReconnected that media flows again.
	EventAway        = "away"
	EventReconnected = "reconnected"
	// EventLost says that the connection is gone for good: join again. EventRoomDeleted: there is nothing to join. EventReplaced: a newer epoch is here.
	EventLost        = "lost"
	EventRoomDeleted = "room_deleted"
	EventReplaced    = "replaced"
)

// The topics of data messages.
const (
	TopicControl = "tf.control"
	TopicStatus  = "tf.status"
	TopicMetrics = "tf.metrics"
	TopicAsset   = "tf.asset"
)
