package engine

import (
	"slices"
	"sync"
	"unsafe"

	"telefuser/workers/media"
)

// framePlaces gives out the parts of the shared memory inside the engine, the first that is large enough first, so that little of it is ever touched.
type framePlaces struct {
	memory []byte

	mu sync.Mutex
	// taken are in order and do not overlap.
	taken []framePlace
}

type framePlace struct{ begin, end int }

// placeAlign keeps frames on cache lines of their own.
const placeAlign = 64

// put copies the frames of a chunk into the memory and answers where they lie; false when there is no room for all of them.
func (p *framePlaces) put(frames []media.Frame) ([]uint64, bool) {
	if p == nil || len(frames) == 0 {
		return nil, false
	}
	places := make([]uint64, 0, len(frames))
	for _, f := range frames {
		begin, ok := p.take(len(f.Data))
		if !ok {
			p.free(places)
			return nil, false
		}
		places = append(places, uint64(begin))
		copy(p.memory[begin:], f.Data)
	}
	return places, true
}

// find answers where data begin in the memory; false where they lie elsewhere.
func (p *framePlaces) find(data []byte) (uint64, bool) {
	if p == nil || len(data) == 0 || len(p.memory) == 0 {
		return 0, false
	}
	begin, at := uintptr(unsafe.Pointer(&p.memory[0])), uintptr(unsafe.Pointer(&data[0]))
	if at < begin || at-begin >= uintptr(len(p.memory)) {
		return 0, false
	}
	return uint64(at - begin), true
}

func (p *framePlaces) take(size int) (begin int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size = (size + placeAlign - 1) / placeAlign * placeAlign
	at := 0
	for ; at < len(p.taken) && p.taken[at].begin-begin < size; at++ {
		begin = p.taken[at].end
	}
	if size == 0 || len(p.memory)-begin < size {
		return 0, false
	}
	p.taken = slices.Insert(p.taken, at, framePlace{begin, begin + size})
	return begin, true
}

// free takes places back; one that nobody has is passed over.
func (p *framePlaces) free(places []uint64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, place := range places {
		i, found := slices.BinarySearchFunc(p.taken, place, func(t framePlace, at uint64) int {
			switch {
			case uint64(t.begin) < at:
				return -1
			case uint64(t.begin) > at:
				return 1
			}
			return 0
		})
		if found {
			p.taken = slices.Delete(p.taken, i, i+1)
		}
	}
}
