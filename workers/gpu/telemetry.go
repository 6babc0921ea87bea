package gpu

import (
	"context"
	"errors"
	"time"
)

// errNVML is what NVML refuses.
var errNVML = errors.New("gpu: NVML")

// xidPoll is how long one wait for an Xid lasts, and so how late an end is noticed.
const xidPoll = 500 * time.Millisecond

// linksMax is the most NVLink links of one GPU.
const linksMax = 18

// activeLinks counts links that are up; nil if NVML answers for none.
func activeLinks(state func(link int) (on, known bool)) *int {
	n, any := 0, false
	for l := range linksMax {
		on, known := state(l)
		any = any || known
		if on && known {
			n++
		}
	}
	if !any {
		return nil
	}
	return &n
}

func watts(milli *uint32) *float64 {
	if milli == nil {
		return nil
	}
	w := float64(*milli) / 1000
	return &w
}

// Monitor reads NVML again and again for one process. It is safe for use from any goroutine
// as far as NVML is, which documents itself as thread safe.
type Monitor struct{ t telemetry }

// OpenMonitor opens NVML. An error means that telemetry is unknown, not that a GPU is bad.
func OpenMonitor() (*Monitor, error) {
	t, err := openTelemetry()
	if err != nil {
		return nil, err
	}
	return &Monitor{t: t}, nil
}

// Read gives one reading of the GPU with the UUID.
func (m *Monitor) Read(uuid string) (*Telemetry, error) { return m.t.read(uuid) }

// NextXid waits for the next critical Xid of a GPU, and returns its number, or until ctx ends.
func (m *Monitor) NextXid(ctx context.Context, uuid string) (uint64, error) {
	return m.t.nextXid(ctx, uuid)
}

// Close ends the use of NVML.
func (m *Monitor) Close() { m.t.close() }
