package engine

import (
	"maps"
	"slices"
	"sync"

	"telefuser/workers/engine/enginepb"
	"telefuser/workers/media"
)

// lentFrames are the frames of one session that lie in the shared memory and were not given back yet.
type lentFrames struct {
	memory *frameMemory

	mu  sync.Mutex
	out map[uint64]bool
}

// lend makes frames of what a chunk says lies in the memory.
func (l *lentFrames) lend(chunk *enginepb.Chunk) ([]media.Frame, error) {
	frames := make([]media.Frame, 0, len(chunk.GetPlaces()))
	for _, place := range chunk.GetPlaces() {
		width, height := int(chunk.GetWidth()), int(chunk.GetHeight())
		data, err := l.memory.part(place, media.FrameBytes(width, height))
		if err == nil {
			err = checkFrame(media.Frame{Width: width, Height: height, Data: data})
		}
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.out[place] = true
		l.mu.Unlock()
		frames = append(frames, media.LendFrame(width, height, data, func() { l.back(place) }))
	}
	return frames, nil
}

// back gives one place back, once.
func (l *lentFrames) back(place uint64) {
	l.mu.Lock()
	lent := l.out[place]
	delete(l.out, place)
	l.mu.Unlock()
	if lent {
		l.memory.giveBack(place)
	}
}

// close gives back whatever is out, and lets go of the memory.
func (l *lentFrames) close() error {
	if l.memory == nil {
		return nil
	}
	l.mu.Lock()
	left := slices.Collect(maps.Keys(l.out))
	l.mu.Unlock()
	for _, place := range left {
		l.back(place)
	}
	return l.memory.drop()
}
