package livekit

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/logger"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"

	"telefuser/streaming"
	"telefuser/workers/media"
)

const (
	// trackName is the picture's.
	trackName = "telefuser-output"
	// clockRate is the track's clock, in ticks a second.
	clockRate = 90_000
	// packetBytesMax is one RTP packet's size, which fits every network.
	packetBytesMax = 1200
	// primeEvery is the pause between two packets that only make the media server know the track.
	// After the first primesFast of them the pause is primeSlow.
	primeEvery = 20 * time.Millisecond
	primeSlow  = 200 * time.Millisecond
	primesFast = 100
	// minStep is the shortest time between two frames: the stream's clock cannot tell less apart.
	minStep = time.Millisecond
)

// track is the published picture.
type track struct {
	local *lksdk.LocalTrack
	// begun is when it was made: the zero of its clock.
	begun      time.Time
	packetizer rtp.Packetizer
	// bound is closed when packets reach the media server.
	bound     chan struct{}
	boundOnce sync.Once
	// asked is when a viewer asked for a picture to begin with for the last time; nil for never.
	asked atomic.Pointer[time.Time]
}

// newTrack makes a track whose viewers' wishes for keyframes go to want.
func newTrack(want func(), log logger.Logger) (*track, error) {
	t := &track{
		begun:      time.Now(),
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
		return nil, fmt.Errorf("livekit: track: %w: %v", ErrUnavailable, err)
	}
	local.OnBind(func() { t.boundOnce.Do(func() { close(t.bound) }) })
	local.SetLogger(log)
	t.local = local
	return t, nil
}

// primer begins like a VP8 picture that cannot be decoded without the one before: RFC 6386, section 9.1.
func primer() []byte { return []byte{0x31, 0, 0, 0} }

// prime sends a packet that no viewer gets. The media server tells nobody of a track before its first packet, and hands on nothing before a picture that
// decoding can begin with; so it sets everything up for the viewers, and the first real picture is the first that they see.
func (t *track) prime() error { return t.send(primer(), time.Since(t.begun)) }

// send puts one picture on the wire. All its packets have the same time, counted from the track's beginning.
func (t *track) send(data []byte, since time.Duration) error {
	at := uint32(int64(since/time.Second)*clockRate + int64(since%time.Second)*clockRate/int64(time.Second))
	for _, packet := range t.packetizer.Packetize(data, 0) {
		packet.Timestamp = at
		if err := t.local.WriteRTP(packet, nil); err != nil {
			return fmt.Errorf("livekit: send frame: %w: %v", ErrUnavailable, err)
		}
	}
	return nil
}

// publication is how the picture's track is called.
func (p *publisher) publication() *lksdk.TrackPublicationOptions {
	return &lksdk.TrackPublicationOptions{Name: trackName, Source: livekit.TrackSource_CAMERA, VideoWidth: p.join.Width, VideoHeight: p.join.Height}
}

// publish keeps the picture's track, which came with the join, known to the media server until the first frame. Viewers are set up meanwhile.
func (p *publisher) publish(ctx context.Context) {
	err := p.await(ctx, "publish", p.track.bound)
	if err == nil {
		err = p.primeUntilFirst()
	}
	if err != nil && ctx.Err() == nil {
		p.server.cfg.Log.WarnContext(ctx, "the picture's track is not published", "room", p.join.Room, "error", err)
		p.lose()
	}
}

// primeUntilFirst primes until the first frame was written.
func (p *publisher) primeUntilFirst() error {
	ticker := time.NewTicker(primeEvery)
	defer ticker.Stop()
	for n := 0; ; n++ {
		done, err := p.primeOnce()
		if done || err != nil {
			return err
		}
		if n == primesFast {
			ticker.Reset(primeSlow)
		}
		select {
		case <-ticker.C:
		case <-p.ended:
			return nil
		}
	}
}

func (p *publisher) primeOnce() (done bool, err error) {
	p.encoding.Lock()
	defer p.encoding.Unlock()
	if p.frames > 0 {
		return true, nil
	}
	return false, p.track.prime()
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

// WaitSubscribed returns when identity is in the room and receives the picture's track, so that the next frame, if it is the first, is its first.
func (p *publisher) WaitSubscribed(ctx context.Context, identity string) error {
	ticker := time.NewTicker(primeEvery)
	defer ticker.Stop()
	for {
		// The media server asks for a picture whenever somebody begins to receive the track.
		if p.receives(identity) {
			return nil
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

// WriteFrame encodes one frame now and sends it heldBack after its moment, or at once where that has passed, so that frames leave evenly although some take longer to encode than
// others. pts may begin anywhere and is not meant to go back. While the connection is away for a moment it waits. It answers what the encoder took.
func (p *publisher) WriteFrame(ctx context.Context, f media.Frame, pts time.Duration, moment time.Time) (took streaming.Encoding, err error) {
	p.encoding.Lock()
	defer p.encoding.Unlock()
	if err := p.line.wait(ctx, p.ended); err != nil {
		return took, err
	}
	if err := p.await(ctx, "publish", p.track.bound); err != nil {
		return took, err
	}
	if p.frames == 0 {
		p.first, p.last, p.offset = pts, -minStep, time.Since(p.track.begun)
	}
	// What could not be sent is written again, with the same time.
	at := max(pts-p.first, p.last+minStep)
	p.last = at
	runtime.Gosched() // others whose frames are due send them first: encoding keeps its processor
	begin, cpu := time.Now(), p.encoder.CPU()
	data, key, err := p.encoder.Encode(f, at, p.frames == 0 || p.keys.due(begin))
	took = streaming.Encoding{Took: time.Since(begin), CPU: p.encoder.CPU() - cpu}
	if err != nil {
		return took, fmt.Errorf("livekit: %w", err)
	}
	if key {
		p.keys.note(begin)
	}
	p.frames++
	if err := p.hold(ctx, moment.Add(min(heldBack, time.Second/time.Duration(heldShare*p.join.FPS)))); err != nil {
		return took, err
	}
	return took, p.track.send(data, p.offset+at)
}

// heldBack is how long after its moment a frame leaves, heldShare the part of the time between two that it is at most: chunks are begun shortly before a moment and take the processors.
const (
	heldBack  = 15 * time.Millisecond
	heldShare = 4
)

// hold waits until a moment, and then until the connection is up.
func (p *publisher) hold(ctx context.Context, moment time.Time) error {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
		return p.line.wait(ctx, p.ended)
	case <-p.ended:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("livekit: hold a frame: %w", context.Cause(ctx))
	}
}
