package engine_test

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"syscall"
	"testing"

	"telefuser/workers/engine"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

// frameBytes is what a frame of request takes.
const frameBytes = 64 * 48 * 3 / 2

// watch plays a session to its end and answers its frames, released as they come where that is asked for.
func watch(t *testing.T, s *engine.Session, release bool) (frames []media.Frame) {
	t.Helper()
	for {
		chunk, err := s.Next(withPatience(t))
		if errors.Is(err, io.EOF) {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, chunk.Frames...)
		for _, f := range chunk.Frames {
			if release {
				f.Release()
				f.Release() // once more does no harm
			}
		}
	}
}

func open(t *testing.T, b *bench, req pipeline.Request) *engine.Session {
	t.Helper()
	s, err := b.Open(withPatience(t), req)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sums(frames []media.Frame) (all []uint32) {
	for _, f := range frames {
		all = append(all, crc32.ChecksumIEEE(f.Data))
	}
	return all
}

// addresses are how many different places the frames lie at; their memory is held, so that the collector cannot use it twice.
func addresses(frames []media.Frame) map[*byte]bool {
	all := map[*byte]bool{}
	for _, f := range frames {
		all[&f.Data[0]] = true
	}
	return all
}

// TestFramesAreTheSameHoweverTheyCome keeps every frame: in shared memory, over the socket, and the rest over the socket when the memory is full.
func TestFramesAreTheSameHoweverTheyCome(t *testing.T) {
	var want []uint32
	for name, bytes := range map[string]int64{"sent": -1, "shared": 0, "a chunk fits": 16 * (frameBytes + 64), "a frame fits": frameBytes + 64, "nothing fits": 4096} {
		b := start(t, "", func(c *engine.Config) { c.FrameMemoryBytes = bytes })
		s := open(t, b, request("one"))
		frames := watch(t, s, false)
		got := sums(frames)
		if len(addresses(frames)) != 45 {
			t.Errorf("%s: 45 frames lie at %d places", name, len(addresses(frames)))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) || len(got) != 45 {
			t.Errorf("%s: other pictures", name)
		}
	}
}

// TestReleasedMemoryIsUsedAgain has memory for a few chunks and plays many.
func TestReleasedMemoryIsUsedAgain(t *testing.T) {
	const fit = 64
	b := start(t, "", func(c *engine.Config) { c.FrameMemoryBytes = fit * (frameBytes + 64) })
	req := request("long")
	req.Frames = 381
	s := open(t, b, req)
	defer s.Close()
	frames := watch(t, s, true)
	if n := len(addresses(frames)); len(frames) != 381 || n > fit {
		t.Errorf("%d frames lie at %d places, %d fit", len(frames), n, fit)
	}
}

// TestAClosedSessionReleasesItsFrames that nobody has: the next one has room.
func TestAClosedSessionReleasesItsFrames(t *testing.T) {
	b := start(t, "", func(c *engine.Config) { c.FrameMemoryBytes = 45 * (frameBytes + 64) })
	seen := map[*byte]bool{}
	for range 5 {
		s := open(t, b, request("short"))
		for place := range addresses(watch(t, s, false)) {
			seen[place] = true
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 45 {
		t.Errorf("five times 45 frames lie at %d places", len(seen))
	}
}

// TestFramesOutliveTheirEngine until the session is closed, also where the engine is gone before it is opened.
func TestFramesOutliveTheirEngine(t *testing.T) {
	b := start(t, "", nil)
	s := open(t, b, request("one"))
	chunk, err := s.Next(withPatience(t))
	if err != nil {
		t.Fatal(err)
	}
	want := sums(chunk.Frames)
	if err := syscall.Kill(b.pid(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = s.Next(withPatience(t))
	}
	if !errors.Is(err, engine.ErrCrashed) {
		t.Errorf("the session ends with %v", err)
	}
	wait(t, "another engine", func() bool {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := b.Ready(ctx)
		return err == nil
	})
	if !slices.Equal(sums(chunk.Frames), want) {
		t.Error("the frames are others now")
	}
	if err := s.Close(); err != nil && !errors.Is(err, engine.ErrCrashed) {
		t.Error(err)
	}
	next := open(t, b, request("two"))
	defer next.Close()
	if frames := watch(t, next, true); len(frames) != 45 {
		t.Errorf("%d frames of the next engine", len(frames))
	}
}
