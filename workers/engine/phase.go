package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// readInterval is the pause between two readings of the devices while a phase lasts.
const readInterval = 250 * time.Millisecond

// phases reads the devices while any phase lasts, on a goroutine of its own: a driver that hangs holds up nobody else.
type phases struct {
	read func() []DeviceReading
	// memory answers at once.
	memory func() []DeviceMemory
	// began wakes the reader; capacity 1: one wake is as good as many.
	began chan struct{}

	mu   sync.Mutex
	open map[*phase]struct{}
	// noted is closed and replaced at each reading.
	noted chan struct{}
}

// phase is the readings of one phase so far.
type phase struct {
	owner   *phases
	devices []deviceSum
}

func newPhases(read func() []DeviceReading, memory func() []DeviceMemory) *phases {
	return &phases{read: read, memory: memory, began: make(chan struct{}, 1), open: map[*phase]struct{}{}, noted: make(chan struct{})}
}

// run reads until ctx ends.
func (p *phases) run(ctx context.Context) {
	if p.read == nil {
		return
	}
	ticker := time.NewTicker(readInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.began:
		case <-ticker.C:
			if !p.any() {
				continue
			}
		}
		p.note(p.read())
	}
}

func (p *phases) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open) > 0
}

func (p *phases) note(readings []DeviceReading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ph := range p.open {
		ph.note(readings)
	}
	close(p.noted)
	p.noted = make(chan struct{})
}

// wake has the reader read at once.
func (p *phases) wake() {
	select {
	case p.began <- struct{}{}:
	default:
	}
}

// freshGrace is how long a phase that ends may wait for a last reading.
const freshGrace = 500 * time.Millisecond

// fresh waits for a reading that began after the call, but not for long.
func (p *phases) fresh() {
	if p.read == nil {
		return
	}
	timer := time.NewTimer(freshGrace)
	defer timer.Stop()
	for range 2 { // the first may have begun before
		p.mu.Lock()
		noted := p.noted
		p.mu.Unlock()
		p.wake()
		select {
		case <-noted:
		case <-timer.C:
			return
		}
	}
}

// begin starts a phase; it must end.
func (p *phases) begin() *phase {
	ph := &phase{owner: p}
	p.mu.Lock()
	p.open[ph] = struct{}{}
	p.mu.Unlock()
	p.wake()
	return ph
}

// end tells what was read; nil where the engine has no device.
func (ph *phase) end(sessions int) *PhaseFacts {
	p := ph.owner
	p.mu.Lock()
	delete(p.open, ph)
	p.mu.Unlock()
	if p.memory == nil {
		return nil
	}
	facts := &PhaseFacts{Sessions: sessions, Devices: make([]DevicePhase, 0, len(ph.devices))}
	for i, own := range p.memory() {
		var sum deviceSum
		if i < len(ph.devices) {
			sum = ph.devices[i]
		}
		d := sum.facts()
		d.EnginePeakBytes, d.OverheadBytes = own.PeakBytes, own.OverheadBytes
		facts.Devices = append(facts.Devices, d)
	}
	return facts
}

// json is end for the wire; empty where the engine has no device.
func (ph *phase) json(sessions int) ([]byte, error) {
	facts := ph.end(sessions)
	if facts == nil {
		return nil, nil
	}
	raw, err := json.Marshal(facts)
	if err != nil {
		return nil, fmt.Errorf("engine: phase: %w", err)
	}
	return raw, nil
}

// phaseFromWire reads what json wrote; nil where nothing was told.
func phaseFromWire(raw []byte) (*PhaseFacts, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	facts := &PhaseFacts{}
	if err := json.Unmarshal(raw, facts); err != nil {
		return nil, fmt.Errorf("engine: phase: %w", err)
	}
	return facts, nil
}

func (ph *phase) note(readings []DeviceReading) {
	for i, r := range readings {
		if i == len(ph.devices) {
			ph.devices = append(ph.devices, deviceSum{})
		}
		ph.devices[i].add(r)
	}
}

// deviceSum adds up the readings of one device.
type deviceSum struct {
	readings                            int
	smClock, memoryClock, power, useful mean
	temperature                         *uint32
	memory                              *uint64
}

func (s *deviceSum) add(r DeviceReading) {
	s.readings++
	addTo(&s.smClock, r.SMClockMHz)
	addTo(&s.memoryClock, r.MemoryClockMHz)
	addTo(&s.power, r.PowerWatts)
	addTo(&s.useful, r.UtilizationPercent)
	s.temperature, s.memory = most(s.temperature, r.TemperatureCelsius), most(s.memory, r.MemoryUsedBytes)
}

func (s *deviceSum) facts() DevicePhase {
	return DevicePhase{
		Readings: s.readings, SMClockMHz: s.smClock.value(), MemoryClockMHz: s.memoryClock.value(), PowerWatts: s.power.value(),
		UtilizationPercent: s.useful.value(), TemperatureCelsius: s.temperature, MemoryUsedBytes: s.memory,
	}
}

// mean is a mean of what is known.
type mean struct {
	sum float64
	n   int
}

func addTo[T uint32 | float64](m *mean, v *T) {
	if v != nil {
		m.sum += float64(*v)
		m.n++
	}
}

func (m mean) value() *float64 {
	if m.n == 0 {
		return nil
	}
	v := m.sum / float64(m.n)
	return &v
}

// most is the larger of what is known.
func most[T cmp.Ordered](a, b *T) *T {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
