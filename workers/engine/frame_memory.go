package engine

import (
	"fmt"
	"sync"
)

// frameMemory is memory that a supervisor and its engine share, so that pictures need not be sent: the engine writes them, and the supervisor's side reads them in
// place. It is unmapped when its last holder has dropped it.
type frameMemory struct {
	data []byte

	mu      sync.Mutex
	holders int
	// returned are the places that readers are done with and the engine has not heard of yet.
	returned []uint64
}

// hold adds a holder; nil when the memory is gone already.
func (m *frameMemory) hold() *frameMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holders == 0 {
		return nil
	}
	m.holders++
	return m
}

// drop takes a holder away, and the memory with the last.
func (m *frameMemory) drop() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holders--; m.holders > 0 {
		return nil
	}
	if err := unmapFrames(m.data); err != nil {
		return fmt.Errorf("engine: frame memory: %w", err)
	}
	m.data = nil
	return nil
}

// giveBack notes a place that is free again.
func (m *frameMemory) giveBack(place uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.returned = append(m.returned, place)
}

// takeReturned answers the places to tell the engine of; nil without memory.
func (m *frameMemory) takeReturned() []uint64 {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	places := m.returned
	m.returned = nil
	return places
}

// part is a frame's memory, or an error where it does not lie within. Its capacity ends where it does.
func (m *frameMemory) part(place uint64, size int) ([]byte, error) {
	if m == nil || size < 1 || place > uint64(len(m.data)) || uint64(size) > uint64(len(m.data))-place {
		return nil, fmt.Errorf("a frame of %d bytes at %d of the shared memory", size, place)
	}
	end := place + uint64(size)
	return m.data[place:end:end], nil
}
