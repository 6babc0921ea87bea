package viewer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/logger"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/webrtc/v4"
)

// messagesMax is how many messages wait for the reader; those beyond it are dropped and counted.
const messagesMax = 1024

// Frame is one compressed picture as it arrived.
type Frame struct {
	// Data are the VP8 bytes, Timestamp its time in ticks of 90 kHz, Key whether decoding can begin here.
	Data      []byte
	Timestamp uint32
	Key       bool
	// At is when its last packet arrived.
	At time.Time
}

// Message is one data message.
type Message struct {
	Topic, From string
	Payload     []byte
}

// Options say what a viewer does with what it gets.
type Options struct {
	// Keep keeps every frame for Frames and IVF.
	Keep bool
	// KeepSound keeps every packet of sound for Sounds.
	KeepSound bool
	// OnFrame is called with every frame, from one goroutine, and must not wait.
	OnFrame func(Frame)
}

// Stats are what a viewer has seen so far.
type Stats struct {
	Frames, Keyframes int
	// Lost counts packets that never came, MessagesDropped messages that nobody read.
	Lost, MessagesDropped int
	// First is when the first frame was there; zero before.
	First time.Time
	// Sounds counts the packets of sound, each with one Opus frame.
	Sounds int
}

// Viewer is one participant who watches. Its methods may be called at the same time.
type Viewer struct {
	o        Options
	room     *lksdk.Room
	messages chan Message
	gone     chan struct{}
	once     sync.Once
	readers  sync.WaitGroup

	mu    sync.Mutex
	stats Stats
	kept  []Frame
	heard []Sound
	// changed is closed and made anew at every frame.
	changed chan struct{}
	ask     func()
}

// tameLibrary is for what the library logs of no room in particular: it has one logger in a process, which would write to standard error.
var tameLibrary sync.Once //nolint:gochecknoglobals // the library's is one

// Join enters the room that the token is for.
func Join(ctx context.Context, url, token string, o Options) (*Viewer, error) {
	tameLibrary.Do(func() { lksdk.SetLogger(logger.GetDiscardLogger()) })
	v := &Viewer{o: o, messages: make(chan Message, messagesMax), gone: make(chan struct{}), changed: make(chan struct{})}
	v.room = lksdk.NewRoom(&lksdk.RoomCallback{
		OnDisconnected: func() { v.once.Do(func() { close(v.gone) }) },
		ParticipantCallback: lksdk.ParticipantCallback{
			OnTrackSubscribed: v.onTrack,
			OnDataPacket:      v.onData,
		},
	})
	if err := v.room.JoinWithContextAndToken(ctx, url, token, lksdk.WithLogger(logger.GetDiscardLogger()), lksdk.WithDisableRegionDiscovery()); err != nil {
		v.room.Disconnect()
		return nil, fmt.Errorf("viewer: join: %w", err)
	}
	return v, nil
}

func (v *Viewer) onTrack(t *webrtc.TrackRemote, _ *lksdk.RemoteTrackPublication, from *lksdk.RemoteParticipant) {
	if t.Kind() != webrtc.RTPCodecTypeVideo {
		v.readers.Add(1)
		go v.listen(t)
		return
	}
	v.mu.Lock()
	v.ask = func() { from.WritePLI(t.SSRC()) }
	v.mu.Unlock()
	v.readers.Add(1)
	go v.read(t)
}

// read takes packets until the track ends.
func (v *Viewer) read(t *webrtc.TrackRemote) {
	defer v.readers.Done()
	a := newAssembler()
	for {
		p, _, err := t.ReadRTP()
		if err != nil {
			return
		}
		frames := a.push(p)
		now := time.Now()
		for _, f := range frames {
			f.At = now
			v.note(f, a.lost)
		}
	}
}

func (v *Viewer) note(f Frame, lost int) {
	v.mu.Lock()
	v.stats.Frames++
	v.stats.Lost = lost
	if f.Key {
		v.stats.Keyframes++
	}
	if v.stats.First.IsZero() {
		v.stats.First = f.At
	}
	if v.o.Keep {
		v.kept = append(v.kept, f)
	}
	close(v.changed)
	v.changed = make(chan struct{})
	v.mu.Unlock()
	if v.o.OnFrame != nil {
		v.o.OnFrame(f)
	}
}

func (v *Viewer) onData(packet lksdk.DataPacket, from lksdk.DataReceiveParams) {
	m, isUser := packet.(*lksdk.UserDataPacket)
	if !isUser {
		return
	}
	select {
	case v.messages <- Message{Topic: m.Topic, From: from.SenderIdentity, Payload: m.Payload}:
	default:
		v.mu.Lock()
		v.stats.MessagesDropped++
		v.mu.Unlock()
	}
}

// Messages are the data messages in the order in which they came.
func (v *Viewer) Messages() <-chan Message { return v.messages }

// Gone is closed when the room is over for the viewer.
func (v *Viewer) Gone() <-chan struct{} { return v.gone }

// Reason is why the room is over, as the media server says it.
func (v *Viewer) Reason() livekit.DisconnectReason { return v.room.DisconnectReason() }

// Stats answers what was seen so far.
func (v *Viewer) Stats() Stats {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stats
}

// Frames answers the frames that were kept.
func (v *Viewer) Frames() []Frame {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]Frame(nil), v.kept...)
}

// ErrGone means that the room ended while the viewer waited.
var ErrGone = errors.New("viewer: the room is over")

// WaitFrames returns when n frames have arrived in all.
func (v *Viewer) WaitFrames(ctx context.Context, n int) error {
	return v.wait(ctx, n, "frames", func(s Stats) int { return s.Frames })
}

// wait returns when the count of what arrives is n.
func (v *Viewer) wait(ctx context.Context, n int, what string, count func(Stats) int) error {
	for {
		v.mu.Lock()
		got, changed := count(v.stats), v.changed
		v.mu.Unlock()
		if got >= n {
			return nil
		}
		select {
		case <-changed:
		case <-v.gone:
			return ErrGone
		case <-ctx.Done():
			return fmt.Errorf("viewer: %d of %d %s: %w", got, n, what, context.Cause(ctx))
		}
	}
}

// Send publishes a data message reliably. The media server drops it without an answer when the token does not allow it.
func (v *Viewer) Send(topic string, payload []byte) error {
	return v.room.LocalParticipant.PublishDataPacket(&lksdk.UserDataPacket{Payload: payload, Topic: topic}, lksdk.WithDataPublishReliable(true))
}

// AskKeyframe sends what a decoder sends when it cannot go on. It does nothing before the first packet.
func (v *Viewer) AskKeyframe() {
	v.mu.Lock()
	ask := v.ask
	v.mu.Unlock()
	if ask != nil {
		ask()
	}
}

// Room is the library's own view, for tests that try what a token forbids.
func (v *Viewer) Room() *lksdk.Room { return v.room }

// Close leaves the room and waits until nothing is read any more.
func (v *Viewer) Close() {
	v.room.Disconnect()
	v.readers.Wait()
	v.once.Do(func() { close(v.gone) })
}
