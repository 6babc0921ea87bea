package livekit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"

	"telefuser/streaming"
	"telefuser/workers/media"
)

// payloadBytesMax bounds one message: the media server promises nothing for longer ones.
const payloadBytesMax = 15 << 10

var _ streaming.Publisher = (*publisher)(nil)

// publisher is one joined room.
type publisher struct {
	server  *Server
	join    streaming.Join
	room    *lksdk.Room
	mailbox *mailbox
	keys    keyframes
	line    *line
	// calls are the library's calls under way and what callbacks began; Close waits for them.
	calls sync.WaitGroup
	track *track
	// wake asks for a look at who is in the room. One place: a look that is to come sees all that came before.
	wake chan struct{}
	// stop ends what runs beside the callers.
	stop context.CancelFunc

	// ended is closed when the room is left or lost.
	ended    chan struct{}
	endOnce  sync.Once
	leftOnce sync.Once

	mu sync.Mutex
	// clients are who is in the room beside publishers, by identity, and since when we saw them.
	clients map[string]time.Time
	// speaker is the sound; nil before the first.
	speaker *speaker

	// encoding guards what follows: one frame at a time, and none while Close frees the encoder.
	encoding sync.Mutex
	encoder  Encoder
	// frames is how many were written, first the first one's time, last the last one's since then, offset when the first was on the track's clock.
	frames              int
	first, last, offset time.Duration
}

// Join enters the room as the publisher of an epoch. An older epoch's publisher is put out; a newer one's makes it ErrReplaced. The error wraps ErrRoomNotFound
// when there is no such room.
func (s *Server) Join(ctx context.Context, j streaming.Join) (streaming.Publisher, error) {
	if !roomPattern.MatchString(j.Room) || !identityPattern.MatchString(publisherIdentity(j.SessionID)) || j.Controller == "" {
		return nil, fmt.Errorf("livekit: join: %w", ErrInvalid)
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	encoder, err := s.cfg.NewEncoder(media.VP8Options{
		Width: j.Width, Height: j.Height, FPS: j.FPS, BitrateBitsPerSecond: j.BitrateBitsPerSecond, Threads: s.cfg.EncoderThreads,
	})
	if err != nil {
		return nil, fmt.Errorf("livekit: join: %w", err)
	}
	// What runs beside the callers lives as long as the room, not as long as the call that began it.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &publisher{
		server: s, join: j, mailbox: newMailbox(), encoder: encoder, ended: make(chan struct{}), clients: map[string]time.Time{},
		line: newLine(), wake: make(chan struct{}, 1), stop: stop,
	}
	if p.track, err = newTrack(p.onAsked, libraryLogger(s.cfg.Log)); err == nil {
		err = p.enter(ctx, life)
	}
	if err != nil {
		stop()
		p.mailbox.close()
		encoder.Close()
		return nil, err
	}
	return p, nil
}

// enter connects to the room, unless a newer epoch is there. life ends with the room.
func (p *publisher) enter(ctx, life context.Context) error {
	newest, err := p.server.publisherEpoch(ctx, p.join.Room, p.join.SessionID)
	if err != nil {
		return err
	}
	if newest > p.join.Epoch {
		return fmt.Errorf("livekit: join: %w", ErrReplaced)
	}
	token, err := p.server.publisherToken(p.join)
	if err != nil {
		return err
	}
	p.room = lksdk.NewRoom(p.callbacks())
	err = p.room.JoinWithContextAndToken(ctx, p.server.cfg.URL, token, lksdk.WithLogger(libraryLogger(p.server.cfg.Log)),
		lksdk.WithConnectTimeout(p.server.cfg.CallTimeout), lksdk.WithAutoSubscribe(false), lksdk.WithDisableRegionDiscovery(),
		// One connection, and the track's offer in the request to join: without them two connections and the track are set up one after the other.
		lksdk.WithSinglePeerConnection(), lksdk.WithTrack(p.track.local, p.publication()))
	if err != nil {
		p.leave()
		return p.joinError(ctx, err)
	}
	if err := p.lookAround(ctx); err != nil {
		p.leave()
		return err
	}
	p.begin(func() { p.publish(life) })
	p.begin(func() { p.watchRoom(life) })
	return nil
}

// onAsked hears that a viewer's decoder, or the media server for one, wants a picture to begin with.
func (p *publisher) onAsked() {
	p.keys.want()
	p.look()
}

// joinError translates what the library says of a join. It has no types for it, only the text of the status.
func (p *publisher) joinError(ctx context.Context, err error) error {
	kind := ErrUnavailable
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
		kind = context.Canceled
	case strings.Contains(err.Error(), "not found"):
		kind = ErrRoomNotFound
	case strings.Contains(err.Error(), "unauthorized"):
		kind = ErrDenied
	}
	return fmt.Errorf("livekit: join %s: %w: %v", p.join.Room, kind, err)
}

// Events are what happens in the room.
func (p *publisher) Events() <-chan streaming.Event { return p.mailbox.out }

// Send publishes one message on a topic to everybody in the room. Reliable ones arrive in the order in which they were sent one after another.
func (p *publisher) Send(ctx context.Context, topic string, payload []byte, reliable bool) error {
	if len(payload) > payloadBytesMax {
		return fmt.Errorf("livekit: send %d bytes on %s, allowed are %d: %w", len(payload), topic, payloadBytesMax, ErrInvalid)
	}
	if err := p.line.wait(ctx, p.ended); err != nil {
		return err
	}
	err := p.bounded(ctx, "send on "+topic, func() error {
		return p.room.LocalParticipant.PublishDataPacket(&lksdk.UserDataPacket{Payload: payload, Topic: topic}, lksdk.WithDataPublishReliable(reliable))
	})
	return err
}

// bounded runs one of the library's calls, which know no context, for Config.CallTimeout at most.
func (p *publisher) bounded(ctx context.Context, op string, call func() error) error {
	ctx, cancel := context.WithTimeout(ctx, p.server.cfg.CallTimeout)
	defer cancel()
	// Buffered, so that a call that comes back too late ends all the same.
	answer := make(chan error, 1)
	if !p.begin(func() { answer <- call() }) {
		return ErrClosed
	}
	select {
	case err := <-answer:
		if err != nil {
			return fmt.Errorf("livekit: %s: %w: %v", op, ErrUnavailable, err)
		}
		return nil
	case <-p.ended:
		return ErrClosed
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return fmt.Errorf("livekit: %s: %w", op, context.Canceled)
		}
		return fmt.Errorf("livekit: %s: %w: no answer", op, ErrUnavailable)
	}
}

func (p *publisher) isEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// end gives the room up, for the reason that kind says; none when we leave by ourselves.
func (p *publisher) end(kind string) {
	p.endOnce.Do(func() {
		p.mu.Lock()
		close(p.ended)
		p.stop()
		p.mu.Unlock()
		p.line.end()
		p.mailbox.seal(kind)
	})
}

// leave disconnects. It may be called from one of the library's callbacks.
func (p *publisher) leave() {
	p.leftOnce.Do(func() { p.room.DisconnectWithReason(livekit.DisconnectReason_CLIENT_INITIATED) })
}

// closeTimeout bounds Close. The library gives up publishing a track after 10 s, and nothing ends that sooner, not even being put out of the room.
const closeTimeout = 11 * time.Second

// Close leaves the room and frees the encoder. It returns within closeTimeout, with an error when the library did not let go until then.
func (p *publisher) Close() error {
	p.end("")
	p.mailbox.close()
	p.encoding.Lock()
	p.encoder.Close()
	p.encoding.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.leave()
		p.calls.Wait()
	}()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("livekit: leave %s: %w: no answer", p.join.Room, ErrUnavailable)
	}
}
