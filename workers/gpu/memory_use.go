package gpu

import "sync/atomic"

// MemoryUse is what one process has allocated on one GPU with Alloc, in bytes. What the driver takes for the context and for kernels comes
// on top.
type MemoryUse struct {
	HeldBytes int64 `json:"held_bytes"` // now
	PeakBytes int64 `json:"peak_bytes"` // at most, since the GPU was opened
}

// memoryUse counts. The sizes belong to the GPU's thread; the counters may be read by anybody.
type memoryUse struct {
	sizes      map[Ptr]int64
	held, peak atomic.Int64
}

func (m *memoryUse) took(p Ptr, bytes int64) {
	if m.sizes == nil {
		m.sizes = map[Ptr]int64{}
	}
	m.sizes[p] = bytes
	held := m.held.Add(bytes)
	m.peak.Store(max(m.peak.Load(), held)) // one writer: the thread
}

func (m *memoryUse) gave(p Ptr) {
	m.held.Add(-m.sizes[p])
	delete(m.sizes, p)
}

func (m *memoryUse) read() MemoryUse {
	held := m.held.Load()
	return MemoryUse{HeldBytes: held, PeakBytes: max(m.peak.Load(), held)}
}
