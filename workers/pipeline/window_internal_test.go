package pipeline

import (
	"errors"
	"io"
	"strings"
	"testing"

	"telefuser/workers/gpu/gputest"
)

// longFast is a small LingBot-World-Fast that remembers so much that a made-up GPU can be too small for it.
func longFast() worldKind {
	k := smallFast()
	k.window, k.contract.SessionsMax = 3000, 1
	g := &k.contract.Geometry
	g.FramesMax, g.SecondsMax = 1+2999*latentFrames, 749
	return k
}

// onMemory loads a model on a made-up GPU of so many bytes.
func onMemory(t *testing.T, kind func() worldKind, bytes int64) (*worldPipeline, error) {
	t.Helper()
	m, err := gputest.New(t.TempDir(), 1, bytes)
	if errors.Is(err, gputest.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	made, err := newWorld(kind)(seeded(Options{Devices: []int{0}, drivers: []string{m.Driver()}}))
	if err != nil {
		t.Fatal(err)
	}
	p := made.(*worldPipeline)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, p.Load(t.Context(), func(float64) {})
}

// TestAVideoIsAsLongAsMemoryAllows loads a model that remembers all of a video on GPUs with room for all of it, for half, and for less than is of use.
func TestAVideoIsAsLongAsMemoryAllows(t *testing.T) {
	t.Parallel()
	const kept = 2 << 30 // of every GPU, for what libraries take
	p, err := onMemory(t, longFast, 1<<32)
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Contract(); p.latents != 3000 || c.Geometry.FramesMax != 1+2999*latentFrames || c.Geometry.SecondsMax != 749 {
		t.Errorf("with room for all there are %d latent frames, %+v", p.latents, c.Geometry)
	}
	each, frame := p.model.SessionBytes(), p.model.FrameBytes()
	base := kept + p.DeviceMemory()[0].HeldBytes - each

	p, err = onMemory(t, longFast, base+each-1500*frame)
	if err != nil {
		t.Fatal(err)
	}
	if p.latents > 1500 || p.latents < 1300 || p.latents%3 != 0 || p.model.Capacity() != int64(p.latents) {
		t.Errorf("with room for 1500 latent frames there are %d, and %d in the model", p.latents, p.model.Capacity())
	}
	if g := p.Contract().Geometry; g.FramesMax != 1+(p.latents-1)*latentFrames || g.SecondsMax != g.FramesMax/16 {
		t.Errorf("with %d latent frames the contract allows %+v", p.latents, g)
	}
	r := request(p, 1+p.latents*latentFrames)
	if _, err := p.Open(t.Context(), r); !errors.Is(err, ErrInvalid) {
		t.Errorf("a video of a frame too many: %v", err)
	}

	_, err = onMemory(t, longFast, base+each-2999*frame)
	if !errors.Is(err, ErrOutOfMemory) || err == nil || !strings.Contains(err.Error(), "one of 749 s wants") || !strings.Contains(err.Error(), "one of 5 s") {
		t.Errorf("with room for nothing of use: %v", err)
	}
}

// TestAShortenedVideoEndsWithItsCache flies to the end of what is remembered.
func TestAShortenedVideoEndsWithItsCache(t *testing.T) {
	t.Parallel()
	made, err := NewSmallFast(Options{})
	p := loaded(t, made, err).(*worldPipeline)
	for _, latents := range []int{3, 7, 15} {
		if err := p.model.Shorten(latents); err == nil {
			t.Errorf("a video of %d latent frames in chunks of 3, of 12", latents)
		}
	}
	if err := p.model.Shorten(6); err != nil {
		t.Fatal(err)
	}
	s, err := p.Open(t.Context(), request(p, 0))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("beyond its cache: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestTheTrueFastWantsWhatIsSaid holds the numbers that decide: chunks of three latent frames, the whole of 20 s, and 5 s at least.
func TestTheTrueFastWantsWhatIsSaid(t *testing.T) {
	k := lingbotFastKind()
	if k.window != 81 || chunksFor(5*16, 3) != 7 || chunksFor(1, 3) != 1 || chunksFor(9, 3) != 1 || chunksFor(10, 3) != 2 {
		t.Errorf("a window of %d, 5 s in %d chunks", k.window, chunksFor(5*16, 3))
	}
}
