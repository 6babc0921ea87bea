package livekit

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"

	"telefuser/workers/media"
)

const (
	// trackName is the picture's.
	trackName = "telefuser-output"
	// clockRate is the track's clock, in ticks a second.
	clockRate = 90_000
	// packetBytesMax is one RTP packet's size, which fits every network.
	packetBytesMax = 1200
	// primeEvery is the pause between two packets without a picture that make the media server know the track.
	primeEvery = 20 * time.Millisecond
)

// track is the published picture.
type track struct {
	local      *lksdk.LocalTrack
	packetizer rtp.Packetizer
	// bound is closed when packets reach the media server.
	bound     chan struct{}
	boundOnce sync.Once
	// asked is when a viewer asked for a picture to begin with for the last time; nil for never.
	asked atomic.Pointer[time.Time]
}

// newTrack makes a track whose viewers' wishes for keyframes go to want.
func newTrack(want func()) (*track, error) {
	t := &track{
		packetizer: rtp.NewPacketizer(packetBytesMax, 0, 0, &codecs.VP8Payloader{EnablePictureID: true}, rtp.NewRandomSequencer(), clockRate),
		bound:      make(chan struct{}),
	}
	local, err := lksdk.NewLocalTrack(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: clockRate}, lksdk.WithRTCPHandler(func(p rtcp.Packet) {
		switch p.(type) {
		case *rtcp.PictureLossIndication, *rtcp.FullIntraRequest:
			want()
			now := time.Now()
			t.asked.Store(&now)
		}
	}))
	if err != nil {
		return nil, fmt.Errorf("livekit: track: %w: %v", ErrUnavailable, err) //nolint:errorlint // foreign errors end here on purpose
	}
	local.OnBind(func() { t.boundOnce.Do(func() { close(t.bound) }) })
	t.local = local
	return t, nil
}

// send puts one frame on the wire. All its packets have the time of the frame.
func (t *track) send(data []byte, pts time.Duration) error {
	packets := t.packetizer.Packetize(data, 0)
	return t.write(packets, pts)
}

// prime sends a packet without a picture, because the media server tells nobody of a track before its first packet.
func (t *track) prime() error {
	return t.write(t.packetizer.GeneratePadding(1), 0)
}

func (t *track) write(packets []*rtp.Packet, pts time.Duration) error {
	at := uint32(int64(pts/time.Second)*clockRate + int64(pts%time.Second)*clockRate/int64(time.Second))
	for _, packet := range packets {
		packet.Timestamp = at
		if err := t.local.WriteRTP(packet, nil); err != nil {
			return fmt.Errorf("livekit: send frame: %w: %v", ErrUnavailable, err) //nolint:errorlint // foreign errors end here on purpose
		}
	}
	return nil
}

// publish makes the picture's track known to the media server, once.
func (p *publisher) publish(ctx context.Context) (*track, error) {
	p.mu.Lock()
	t := p.track
	p.mu.Unlock()
	if t != nil {
		return t, nil
	}
	t, err := newTrack(p.keys.want)
	if err != nil {
		return nil, err
	}
	t.local.SetLogger(libraryLogger(p.server.cfg.Log))
	err = p.bounded(ctx, "publish", func() error {
		_, err := p.room.LocalParticipant.PublishTrack(t.local, &lksdk.TrackPublicationOptions{
			Name: trackName, Source: livekit.TrackSource_CAMERA, VideoWidth: p.join.Width, VideoHeight: p.join.Height,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx, "publish", t.bound); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.track = t
	p.mu.Unlock()
	return t, nil
}

// await waits for done, for Config.CallTimeout at most.
func (p *publisher) await(ctx context.Context, op string, done <-chan struct{}) error {
	timer := time.NewTimer(p.server.cfg.CallTimeout)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-p.ended:
		return ErrClosed
	case <-timer.C:
		return fmt.Errorf("livekit: %s: %w: no answer", op, ErrUnavailable)
	case <-ctx.Done():
		return fmt.Errorf("livekit: %s: %w", op, context.Cause(ctx))
	}
}

// WaitSubscribed publishes the picture's track and returns when identity is in the room and receives it, so that the next frame is its first.
func (p *publisher) WaitSubscribed(ctx context.Context, identity string) error {
	p.encoding.Lock()
	defer p.encoding.Unlock()
	if err := p.line.wait(ctx, p.ended); err != nil {
		return err
	}
	t, err := p.publish(ctx)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(primeEvery)
	defer ticker.Stop()
	for {
		// The media server asks for a picture whenever somebody begins to receive the track.
		if asked := t.asked.Load(); asked != nil && p.isHereSince(identity, *asked) {
			return nil
		}
		if p.frames == 0 {
			if err := t.prime(); err != nil {
				return err
			}
		}
		select {
		case <-ticker.C:
		case <-p.ended:
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("livekit: wait for %s: %w", identity, context.Cause(ctx))
		}
	}
}

// WriteFrame encodes and sends one frame now; pacing is the caller's. pts may begin anywhere and must grow. While the connection is away for a moment it
// waits. It answers how long the encoder took.
func (p *publisher) WriteFrame(ctx context.Context, f media.Frame, pts time.Duration) (encode time.Duration, err error) {
	p.encoding.Lock()
	defer p.encoding.Unlock()
	if err := p.line.wait(ctx, p.ended); err != nil {
		return 0, err
	}
	t, err := p.publish(ctx)
	if err != nil {
		return 0, err
	}
	if p.frames == 0 {
		p.origin = pts
	}
	begin := time.Now()
	data, key, err := p.encoder.Encode(f, pts-p.origin, p.frames == 0 || p.keys.due(begin))
	encode = time.Since(begin)
	if err != nil {
		return encode, fmt.Errorf("livekit: %w", err)
	}
	if key {
		p.keys.note(begin)
	}
	p.frames++
	return encode, t.send(data, pts)
}
