package engine

import "sync"

// moves passes an engine's progress on to whoever listens. An engine may be anybody's program: only what grows and lies in 0..1 is believed.
type moves struct {
	mu    sync.Mutex
	share float64
	moved func(share float64)
}

func (m *moves) note(share float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !(share > m.share && share <= 1) {
		return
	}
	m.share = share
	if m.moved != nil {
		m.moved(share)
	}
}

func (m *moves) listen(moved func(share float64)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moved = moved
	if m.share > 0 {
		moved(m.share)
	}
}
