package replay

import (
	"fmt"
	"time"

	"telefuser/internal/bench"
)

// Key is one change of what the controller holds.
type Key struct {
	// After counts from the first frame at the viewer.
	After time.Duration
	// Key is a key's name, Release lets it go.
	Key     string
	Release bool
}

// Workload is a session to play.
type Workload struct {
	Prompt string
	// Size is WIDTHxHEIGHT in pixels, FPS in frames a second.
	Size string
	FPS  int
	// Frames and Chunks are how many there must be.
	Frames, Chunks int
	Seed           int64
	Keys           []Key
	// Picture is what the session begins with, as a data URL; empty: nothing.
	Picture string
	// RateMin is the least rate at the viewer, in frames a second, of a server that is not expected to keep up; 0: it is to keep to FPS.
	RateMin float64
}

// length is how long the session takes at the rate that is expected.
func (w Workload) length() time.Duration {
	rate := float64(w.FPS)
	if w.RateMin > 0 {
		rate = min(rate, w.RateMin)
	}
	return time.Duration(float64(w.Frames) / rate * float64(time.Second))
}

// The chunks of the workload: the first is shorter, because a latent frame is four pictures and the first of all is one.
const (
	chunkLatents     = 4
	firstChunkFrames = 1 + 4*(chunkLatents-1)
	chunkFrames      = 4 * chunkLatents
)

// ChunksOf is how many chunks so many frames are.
func ChunksOf(frames int) int {
	return 1 + max(0, frames-firstChunkFrames+chunkFrames-1)/chunkFrames
}

// OneMinute is the workload that streaming services are compared by: 957 frames in 60 chunks, and a flight whose last key is held to the end.
func OneMinute() Workload {
	const frames = 957
	return Workload{
		Prompt: "a green valley between snowy mountains", Size: "832x480", FPS: 16, Frames: frames, Chunks: ChunksOf(frames), Seed: 42,
		Keys: []Key{
			{After: time.Second, Key: "ArrowUp"}, {After: 1800 * time.Millisecond, Key: "ArrowUp", Release: true},
			{After: 2800 * time.Millisecond, Key: "ArrowLeft"}, {After: 3600 * time.Millisecond, Key: "ArrowLeft", Release: true},
			{After: 4600 * time.Millisecond, Key: "ArrowRight"}, {After: 5400 * time.Millisecond, Key: "ArrowRight", Release: true},
			{After: 6400 * time.Millisecond, Key: "ArrowUp"},
		},
	}
}

// Cut is the workload with fewer frames: its only key is held from the first frame on. It shows after the chunks that were made ahead, so there should be
// six or more.
func (w Workload) Cut(frames int) Workload {
	if frames < w.Frames {
		w.Keys = []Key{{Key: "ArrowUp"}}
	}
	w.Frames, w.Chunks = frames, ChunksOf(frames)
	return w
}

// size answers width and height in pixels.
func (w Workload) size() (width, height int, err error) {
	if n, err := fmt.Sscanf(w.Size, "%dx%d", &width, &height); n != 2 || err != nil || width < 2 || height < 2 {
		return 0, 0, fmt.Errorf("%w: size %q", bench.ErrPlan, w.Size)
	}
	if w.Frames < 2 || w.FPS < 1 || w.Chunks < 1 {
		return 0, 0, fmt.Errorf("%w: %d frames at %d a second", bench.ErrPlan, w.Frames, w.FPS)
	}
	return width, height, nil
}
