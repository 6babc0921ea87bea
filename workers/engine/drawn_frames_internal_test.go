package engine

import (
	"bytes"
	"testing"

	"telefuser/workers/media"
)

// drawn has shared memory for so many frames of 4x2.
func drawn(frames int) *drawnFrames {
	return newDrawnFrames(&framePlaces{memory: make([]byte, frames*placeAlign)})
}

func TestDrawnFramesAreNotCopied(t *testing.T) {
	d := drawn(3)
	one, two := d.frame(4, 2), d.frame(4, 2)
	own := media.NewFrame(4, 2)
	for i, f := range []media.Frame{one, two, own} {
		copy(f.Data, bytes.Repeat([]byte{byte(i + 1)}, len(f.Data)))
	}
	places, ok := d.put([]media.Frame{two, own, one})
	if !ok || len(places) != 3 {
		t.Fatalf("places %v, %v", places, ok)
	}
	for i, want := range []byte{2, 3, 1} {
		if got := d.places.memory[places[i]]; got != want {
			t.Errorf("frame %d is picture %d, want %d", i, got, want)
		}
	}
	if &d.places.memory[places[0]] != &two.Data[0] || &d.places.memory[places[2]] != &one.Data[0] {
		t.Error("a drawn frame was copied")
	}
	one.Release() // it is the supervisor's now
	d.close()
	if len(d.places.taken) != 3 {
		t.Errorf("%d places are taken that the supervisor has not given back, want 3", len(d.places.taken))
	}
}

func TestDrawnFramesThatWereNotSentAreTakenBack(t *testing.T) {
	d := drawn(2)
	released := d.frame(4, 2)
	released.Release()
	released.Release()
	d.frame(4, 2)
	d.frame(4, 2)
	if len(d.places.taken) != 2 {
		t.Fatalf("%d places are taken, want 2", len(d.places.taken))
	}
	if full := d.frame(4, 2); len(full.Data) != media.FrameBytes(4, 2) {
		t.Errorf("beside full memory a frame has %d bytes", len(full.Data))
	} else if _, shared := d.places.find(full.Data); shared {
		t.Error("full memory has room")
	}
	d.close()
	if len(d.places.taken) != 0 {
		t.Errorf("%d places are taken after the session", len(d.places.taken))
	}
	late := d.frame(4, 2)
	if _, shared := d.places.find(late.Data); shared {
		t.Error("a closed session has a place")
	}
}

// TestAChunkThatDoesNotFitKeepsItsPlaces until its frames were copied out and released.
func TestAChunkThatDoesNotFitKeepsItsPlaces(t *testing.T) {
	d := drawn(1)
	inside := d.frame(4, 2)
	if _, ok := d.put([]media.Frame{inside, media.NewFrame(4, 2)}); ok {
		t.Fatal("two frames lie in memory for one")
	}
	if len(d.places.taken) != 1 {
		t.Fatalf("%d places are taken, want 1", len(d.places.taken))
	}
	inside.Release()
	if len(d.places.taken) != 0 {
		t.Error("a released frame keeps its place")
	}
	none := newDrawnFrames(nil)
	own := none.frame(4, 2)
	if _, ok := none.put([]media.Frame{own}); ok || len(own.Data) != media.FrameBytes(4, 2) {
		t.Errorf("without memory: %d bytes, %v", len(own.Data), ok)
	}
	none.close()
}
