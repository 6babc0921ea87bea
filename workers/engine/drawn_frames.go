package engine

import (
	"maps"
	"slices"
	"sync"

	"telefuser/workers/media"
)

// drawnFrames are the places of the shared memory that one session's pipeline draws into and that the supervisor was not told of yet. Without shared memory frames are
// ordinary ones.
type drawnFrames struct {
	places *framePlaces

	mu     sync.Mutex
	out    map[uint64]bool
	closed bool
}

func newDrawnFrames(places *framePlaces) *drawnFrames {
	return &drawnFrames{places: places, out: map[uint64]bool{}}
}

// frame makes a frame to draw, in the shared memory where there is room.
func (d *drawnFrames) frame(width, height int) media.Frame {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.places == nil || d.closed {
		return media.NewFrame(width, height)
	}
	size := media.FrameBytes(width, height)
	begin, ok := d.places.take(size)
	if !ok {
		return media.NewFrame(width, height)
	}
	place := uint64(begin)
	d.out[place] = true
	return media.LendFrame(width, height, d.places.memory[begin:begin+size:begin+size], func() { d.back(place) })
}

// back frees a place that is not the supervisor's.
func (d *drawnFrames) back(place uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.out[place] {
		delete(d.out, place)
		d.places.free([]uint64{place})
	}
}

// put answers where the frames of a chunk lie in the shared memory, and copies those there that were drawn elsewhere. Their places are the supervisor's from then on;
// false when there is no room for all of them.
func (d *drawnFrames) put(frames []media.Frame) ([]uint64, bool) {
	if d.places == nil || len(frames) == 0 {
		return nil, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	places := make([]uint64, len(frames))
	var elsewhere []media.Frame
	var at []int
	for i, f := range frames {
		place, inside := d.places.find(f.Data)
		if inside && d.out[place] {
			places[i] = place
			continue
		}
		elsewhere, at = append(elsewhere, f), append(at, i)
	}
	if len(elsewhere) > 0 {
		copies, ok := d.places.put(elsewhere)
		if !ok {
			return nil, false
		}
		for i, place := range copies {
			places[at[i]] = place
		}
	}
	for _, place := range places {
		delete(d.out, place)
	}
	return places, true
}

// close frees what was drawn and never sent. Call it when nobody draws any more.
func (d *drawnFrames) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.places.free(slices.Collect(maps.Keys(d.out)))
	clear(d.out)
	d.closed = true
}
