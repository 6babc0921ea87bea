package engine

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"telefuser/workers/media"
)

// TestPlacesAreNobodyElses puts and frees at random and holds every frame against what was put.
func TestPlacesAreNobodyElses(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := &framePlaces{memory: make([]byte, 10_000)}
		held := map[uint64][]byte{}
		for range 400 {
			frames := make([]media.Frame, 1+r.IntN(4))
			for i := range frames {
				frames[i].Data = bytes.Repeat([]byte{byte(r.IntN(256))}, 1+r.IntN(900))
			}
			places, ok := p.put(frames)
			for i, place := range places {
				held[place] = frames[i].Data
			}
			if used := taken(p); !ok && used+4*964 < len(p.memory)/2 {
				t.Fatalf("seed %d: no room beside %d bytes", seed, used)
			}
			for place, want := range held {
				if !bytes.Equal(p.memory[place:int(place)+len(want)], want) {
					t.Fatalf("seed %d: the frame at %d was written over", seed, place)
				}
				if r.IntN(3) == 0 {
					p.free([]uint64{place, place + 1, 1 << 40})
					delete(held, place)
				}
			}
		}
		for place := range held {
			p.free([]uint64{place, place})
		}
		if used := taken(p); used != 0 {
			t.Errorf("seed %d: %d bytes are nobody's", seed, used)
		}
	}
}

func taken(p *framePlaces) (bytes int) {
	for _, place := range p.taken {
		bytes += place.end - place.begin
	}
	return bytes
}

// TestNoMemoryIsNoPlace: an engine without it sends its frames.
func TestNoMemoryIsNoPlace(t *testing.T) {
	var none *framePlaces
	if _, ok := none.put([]media.Frame{media.NewFrame(2, 2)}); ok {
		t.Error("a place in no memory")
	}
	none.free([]uint64{1})
	p := &framePlaces{memory: make([]byte, 100)}
	if _, ok := p.put(nil); ok {
		t.Error("a place for no frames")
	}
}

// TestPartsLieWithinTheMemory, whatever an engine says.
func TestPartsLieWithinTheMemory(t *testing.T) {
	m := &frameMemory{data: make([]byte, 100)}
	for _, bad := range []struct {
		place uint64
		size  int
	}{{0, 101}, {100, 1}, {99, 2}, {101, 0}, {1 << 63, 1}, {^uint64(0), 2}, {0, 0}, {0, -6}} {
		if _, err := m.part(bad.place, bad.size); err == nil {
			t.Errorf("%d bytes at %d", bad.size, bad.place)
		}
	}
	if data, err := m.part(94, 6); err != nil || len(data) != 6 || cap(data) != 6 {
		t.Errorf("the last part: %d of %d, %v", len(data), cap(data), err)
	}
	var none *frameMemory
	if _, err := none.part(0, 1); err == nil {
		t.Error("a part of no memory")
	}
}
