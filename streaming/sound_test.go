package streaming_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"telefuser/streaming"
	"telefuser/workers/media"
)

// loud is an engine whose chunks have sound: samples that count.
type loud struct {
	*engine
	// short is how many moments each chunk lacks.
	short int
}

func (l loud) Open(ctx context.Context, s streaming.Session) (streaming.Source, error) {
	src, err := l.engine.Open(ctx, s)
	return &loudSource{Source: src, fps: s.Spec.FPS, short: l.short}, err
}

type loudSource struct {
	streaming.Source
	fps, short, heard int
}

func (s *loudSource) Next(ctx context.Context) (streaming.Chunk, error) {
	c, err := s.Source.Next(ctx)
	if err != nil {
		return c, err
	}
	c.Sound = &media.Sound{Channels: 1}
	for range len(c.Frames)*media.SoundRate/s.fps - s.short {
		c.Sound.PCM = append(c.Sound.PCM, int16(s.heard))
		s.heard++
	}
	return c, nil
}

// heard are the sounds with samples so far.
func (r *room) sounding() (announced int, sounds []sound) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sounds {
		if len(s.PCM) == 0 {
			announced++
			continue
		}
		sounds = append(sounds, s)
	}
	return announced, sounds
}

// TestSoundIsOnThePicturesClock plays a lossless session with sound: every frame has its own, at its own time, and together they are the whole.
func TestSoundIsOnThePicturesClock(t *testing.T) {
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{AckTimeout: 10 * time.Millisecond}, loud{engine: &engine{took: time.Microsecond}})
	s := b.create(lossless)
	room := b.rooms.of(s.Room)
	b.until("the sound's track is announced", func() bool { n, _ := room.sounding(); return n > 0 })
	if _, early := room.sounding(); len(early) != 0 {
		t.Error("sound before the controller came")
	}
	room.enter("ann")
	b.ends(s.ID, streaming.ReasonFinished)
	frames := room.shown()
	whole(t, frames)
	_, sounds := room.sounding()
	if len(sounds) != len(frames) {
		t.Fatalf("%d sounds with %d frames", len(sounds), len(frames))
	}
	next := int16(0)
	for i, one := range sounds {
		if one.pts != frames[i].pts {
			t.Errorf("frame %d is at %s, its sound at %s", i, frames[i].pts, one.pts)
		}
		for _, v := range one.PCM {
			if v != next {
				t.Fatalf("sound %d holds the sample %d, want %d", i, v, next)
			}
			next++
		}
	}
}

// TestDroppedFramesTakeTheirSoundAlong writes too slowly.
func TestDroppedFramesTakeTheirSoundAlong(t *testing.T) {
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{}, loud{engine: &engine{took: time.Microsecond}})
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	room.slow = 35 * time.Millisecond
	room.enter("ann")
	b.until("frames are dropped", func() bool { return b.get(s.ID).Facts.DroppedFrames > 20 })
	if _, err := b.store.End(t.Context(), "alice", s.ID, streaming.ReasonDeleted); err != nil {
		t.Fatal(err)
	}
	b.until("slot is free", func() bool { return b.health().WorkersIdle == 1 })
	_, sounds := room.sounding()
	frames := room.shown()
	// The last frame may have been cut off between its picture and its sound.
	if extra := len(frames) - len(sounds); extra < 0 || extra > 1 {
		t.Errorf("%d sounds with %d frames", len(sounds), len(frames))
	}
	for i, s := range sounds {
		if s.pts != frames[i].pts {
			t.Fatalf("frame %d is at %s, its sound at %s", i, frames[i].pts, s.pts)
		}
	}
}

// TestASessionGoesOnWithoutItsSound has no encoder, which is said once and asked for no more.
func TestASessionGoesOnWithoutItsSound(t *testing.T) {
	b := newBundle(t, quick())
	b.rooms.deaf = fmt.Errorf("%w: no libopus", media.ErrEncoder)
	b.pool(streaming.PoolConfig{AckTimeout: 10 * time.Millisecond}, loud{engine: &engine{took: time.Microsecond}})
	s := b.create(lossless)
	room := b.rooms.of(s.Room)
	room.enter("ann")
	b.ends(s.ID, streaming.ReasonFinished)
	whole(t, room.shown())
	if announced, sounds := room.sounding(); announced+len(sounds) != 1 {
		t.Errorf("sound was tried %d times", announced+len(sounds))
	}
}

// TestSoundOfAnotherLengthEndsTheSession holds pipelines to what they promise.
func TestSoundOfAnotherLengthEndsTheSession(t *testing.T) {
	b := newBundle(t, quick())
	b.pool(streaming.PoolConfig{}, loud{engine: &engine{took: time.Microsecond}, short: media.SoundRate / 50})
	s := b.create(nil)
	b.rooms.of(s.Room).enter("ann")
	b.ends(s.ID, streaming.ReasonPipelineFailed)
}
