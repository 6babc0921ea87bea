package livekit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"

	"telefuser/workers/media"
)

const (
	// soundTrackName is the sound's.
	soundTrackName = "telefuser-audio"
	// soundBitrate is what one channel of it may use, in bits a second.
	soundBitrate = 64_000
	// soundsMax is how many pieces of sound, one a frame, wait for their packets; those beyond it are lost.
	soundsMax = 64
	// soundSlip is how far two pieces may lie apart, in samples of a channel, and count as one after the other: a millisecond.
	soundSlip = media.SoundRate / 1000
	// soundLate is how late a piece may come before what follows is sent later, too, rather than at once.
	soundLate = 40 * time.Millisecond
)

// piece is sound that is heard from a moment on: at counts the moments of pts, come is when it was handed over.
type piece struct {
	media.Sound
	at   int64
	come time.Time
}

// speaker is the published sound: it cuts the pieces into packets and sends each when its last sample is heard, so that they leave evenly and the times on
// the wire are those of the picture's clock.
type speaker struct {
	channels   int
	local      *lksdk.LocalTrack
	packetizer rtp.Packetizer
	encoder    *media.OpusEncoder
	pieces     chan piece
	bound      chan struct{}
	boundOnce  sync.Once

	// What follows is run's alone: samples that wait for their packet, the moment of the first of them, and when moment 0 is heard.
	waiting []int16
	at      int64
	zero    time.Time
}

func newSpeaker(channels int) (*speaker, error) {
	encoder, err := media.NewOpusEncoder(channels, soundBitrate*channels)
	if err != nil {
		return nil, fmt.Errorf("livekit: sound: %w", err)
	}
	s := &speaker{
		channels: channels, encoder: encoder, pieces: make(chan piece, soundsMax), bound: make(chan struct{}),
		packetizer: rtp.NewPacketizer(packetBytesMax, 0, 0, &codecs.OpusPayloader{}, rtp.NewRandomSequencer(), media.SoundRate),
	}
	// On the wire Opus always has two channels; how many there are is in the packets.
	s.local, err = lksdk.NewLocalTrack(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: media.SoundRate, Channels: 2})
	if err != nil {
		encoder.Close()
		return nil, fmt.Errorf("livekit: sound: %w: %v", ErrUnavailable, err)
	}
	s.local.OnBind(func() { s.boundOnce.Do(func() { close(s.bound) }) })
	return s, nil
}

// WriteSound takes what is heard from now on. The first call publishes the track. The error wraps media.ErrEncoder where there is no libopus.
func (p *publisher) WriteSound(s media.Sound, pts time.Duration) error {
	v, err := p.openSpeaker(s.Channels)
	if err != nil || len(s.PCM) == 0 {
		return err
	}
	if s.Channels != v.channels {
		return fmt.Errorf("livekit: sound of %d channels in a stream of %d: %w", s.Channels, v.channels, ErrInvalid)
	}
	at := int64(pts/time.Second)*media.SoundRate + int64(pts%time.Second)*media.SoundRate/int64(time.Second)
	select {
	case v.pieces <- piece{Sound: s, at: at, come: time.Now()}:
	default: // it is late already
	}
	return nil
}

// openSpeaker makes the speaker at the first call.
func (p *publisher) openSpeaker(channels int) (*speaker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isEnded() {
		return nil, ErrClosed
	}
	if p.speaker != nil {
		return p.speaker, nil
	}
	v, err := newSpeaker(channels)
	if err != nil {
		return nil, err
	}
	v.local.SetLogger(libraryLogger(p.server.cfg.Log))
	p.speaker = v
	p.run(func() { p.speak(v) })
	p.run(func() { p.publishSound(v) })
	return v, nil
}

// publishSound makes the sound's track known. A picture without it goes on.
func (p *publisher) publishSound(v *speaker) {
	err := p.bounded(context.Background(), "publish sound", func() error {
		_, err := p.room.LocalParticipant.PublishTrack(v.local, &lksdk.TrackPublicationOptions{Name: soundTrackName, Source: livekit.TrackSource_MICROPHONE})
		return err
	})
	if err != nil && !errors.Is(err, ErrClosed) {
		p.server.cfg.Log.Warn("the sound's track is not published", "room", p.join.Room, "error", err)
	}
}

// speak sends what is handed over until the room is left.
func (p *publisher) speak(v *speaker) {
	defer v.encoder.Close()
	for {
		select {
		case s := <-v.pieces:
			v.take(s)
		case <-p.ended:
			return
		}
		for len(v.waiting) >= media.OpusFrameMoments*v.channels {
			if !sleepTo(v.due(), p.ended) {
				return
			}
			if err := v.send(p.line.isAway()); err != nil {
				p.server.cfg.Log.Debug("sound is lost", "room", p.join.Room, "error", err)
			}
		}
	}
}

// take appends a piece to what waits, or begins anew where it does not follow.
func (v *speaker) take(s piece) {
	next := v.at + int64(len(v.waiting)/v.channels)
	heard := func(at int64) time.Time { return v.zero.Add(time.Duration(at) * time.Second / media.SoundRate) }
	if slip := s.at - next; v.zero.IsZero() || slip > soundSlip || slip < -soundSlip {
		v.waiting, v.at = v.waiting[:0], s.at
		v.zero = s.come.Add(-time.Duration(s.at) * time.Second / media.SoundRate)
	} else if late := s.come.Sub(heard(next)); late > soundLate {
		v.zero = v.zero.Add(late)
	}
	v.waiting = append(v.waiting, s.PCM...)
}

// due is when the last sample of the next packet is heard.
func (v *speaker) due() time.Time {
	return v.zero.Add(time.Duration(v.at+media.OpusFrameMoments) * time.Second / media.SoundRate)
}

// send encodes and sends the next packet; where it cannot be sent it is lost.
func (v *speaker) send(away bool) error {
	n := media.OpusFrameMoments * v.channels
	data, err := v.encoder.Encode(v.waiting[:n])
	at := v.at
	v.waiting = v.waiting[:copy(v.waiting, v.waiting[n:])]
	v.at += media.OpusFrameMoments
	if err != nil {
		return fmt.Errorf("livekit: %w", err)
	}
	select {
	case <-v.bound:
	default:
		return nil
	}
	if away {
		return nil
	}
	for _, packet := range v.packetizer.Packetize(data, media.OpusFrameMoments) {
		packet.Timestamp, packet.Marker = uint32(at), false
		if err := v.local.WriteRTP(packet, nil); err != nil {
			return fmt.Errorf("livekit: send sound: %w: %v", ErrUnavailable, err)
		}
	}
	return nil
}

// sleepTo waits for a moment; false when the room is left before.
func sleepTo(moment time.Time, ended <-chan struct{}) bool {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ended:
		return false
	}
}
