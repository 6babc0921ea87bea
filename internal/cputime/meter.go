package cputime

import (
	"runtime"
	"time"
)

// Meter sums the processor time, user and system, of stretches of one goroutine's work. Within a stretch the goroutine keeps its thread, so that the thread's clock is
// its own. The zero value is ready; a Meter belongs to one goroutine.
type Meter struct {
	at  time.Duration
	sum time.Duration
}

// Start begins a stretch, which Stop ends. Nothing should wait for anything within.
func (m *Meter) Start() {
	runtime.LockOSThread()
	m.at = threadTime()
}

// Stop ends a stretch.
func (m *Meter) Stop() {
	m.sum += threadTime() - m.at
	runtime.UnlockOSThread()
}

// Add counts what another goroutine's meter has summed.
func (m *Meter) Add(d time.Duration) { m.sum += d }

// Sum is the time of all stretches; 0 where threads have no clock.
func (m *Meter) Sum() time.Duration { return m.sum }
