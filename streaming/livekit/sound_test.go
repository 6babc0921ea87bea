package livekit_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"telefuser/internal/bench/viewer"
	"telefuser/streaming"
	"telefuser/streaming/livekit"
	"telefuser/workers/media"
)

// hum is what is heard while one frame is shown.
func hum(index int) media.Sound {
	s := media.Sound{Channels: 1}
	for i := range media.SoundRate / fps {
		s.PCM = append(s.PCM, int16(9000*math.Sin(float64(index*media.SoundRate/fps+i)*2*math.Pi*220/media.SoundRate)))
	}
	return s
}

// playAloud plays frames with their sound, in real time, as the pacer does: each frame ahead of its moment, and its sound when it is sent.
func playAloud(t *testing.T, p streaming.Publisher, frames int) {
	t.Helper()
	begin := time.Now()
	for i := range frames {
		pts := time.Duration(i) * time.Second / fps
		if _, err := p.WriteFrame(t.Context(), picture(i), pts, begin.Add(pts)); err != nil {
			t.Fatal(err)
		}
		if err := p.WriteSound(hum(i), pts); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSoundArrivesBesideThePicture(t *testing.T) {
	if err := media.CheckOpus(t.Context()); err != nil {
		t.Skip(err)
	}
	s := start(t)
	room := s.room(t)
	v := s.watch(t, room, "controller", streaming.RoleController, viewer.Options{Keep: true, KeepSound: true})
	p := s.publish(t, joinOf(room, 1))
	if err := p.WriteSound(media.Sound{Channels: 1}, 0); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitSubscribed(within(t, patience), "controller"); err != nil {
		t.Fatal(err)
	}
	const frames = 64
	playAloud(t, p, frames)
	if err := v.WaitFrames(within(t, patience), frames); err != nil {
		t.Fatal(err)
	}
	// What is heard before the track is set up is lost; the rest comes without a gap.
	const packets = frames * int(time.Second/fps) / int(media.OpusFrame)
	if err := v.WaitSounds(within(t, patience), packets/2); err != nil {
		t.Fatal(err)
	}
	sounds := v.Sounds()
	for i, one := range sounds {
		if len(one.Data) < 2 || i > 0 && one.Timestamp-sounds[i-1].Timestamp != media.OpusFrameMoments {
			t.Errorf("packet %d has %d bytes at %d", i, len(one.Data), one.Timestamp)
		}
	}
	t.Logf("%d of %d packets; the sound is %s behind the picture", len(sounds), packets, behind(v.Frames(), sounds))
}

// behind is how much later than the picture the sound arrives, by the times on the wire: the sound's count from the moment of the first frame.
func behind(frames []viewer.Frame, sounds []viewer.Sound) time.Duration {
	var picture, sound []time.Duration
	begin := frames[0].At
	for _, f := range frames {
		picture = append(picture, f.At.Sub(begin)-time.Duration(f.Timestamp-frames[0].Timestamp)*time.Second/90_000)
	}
	for _, s := range sounds {
		sound = append(sound, s.At.Sub(begin)-time.Duration(s.Timestamp)*time.Second/media.SoundRate)
	}
	slices.Sort(picture)
	slices.Sort(sound)
	return sound[len(sound)/2] - picture[len(picture)/2]
}

func TestSoundOfAClosedRoomIsRefused(t *testing.T) {
	if err := media.CheckOpus(t.Context()); err != nil {
		t.Skip(err)
	}
	s := start(t)
	p := s.publish(t, joinOf(s.room(t), 1))
	if err := p.WriteSound(hum(0), 0); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteSound(media.Sound{Channels: 2, PCM: make([]int16, 2)}, 0); !errors.Is(err, livekit.ErrInvalid) {
		t.Errorf("two channels in a stream of one: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteSound(hum(1), 0); !errors.Is(err, livekit.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
