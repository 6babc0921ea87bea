package pipeline

import "context"

// Prober is a Pipeline that can tell whether its devices still work.
type Prober interface {
	// Probe runs something small and real on every device and checks the result. It fails with ErrDeviceLost. No session is open.
	Probe(ctx context.Context) error
}

// MemoryUser is a Pipeline that knows what it has allocated on its devices.
type MemoryUser interface {
	// DeviceMemory answers at once, from any goroutine, in the order of Options.Devices; nothing before Load.
	DeviceMemory() []DeviceMemory
}

// DeviceMemory is what a pipeline has allocated on one device, in bytes: now, and at most since Load.
type DeviceMemory struct {
	HeldBytes int64
	PeakBytes int64
}
