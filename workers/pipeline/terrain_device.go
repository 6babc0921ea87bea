package pipeline

import "context"

// Probe has the device run a small kernel. It fails with ErrDeviceLost where that goes wrong.
func (t *Terrain) Probe(ctx context.Context) error {
	if t.cuda == nil {
		return nil
	}
	return deviceError(t.cuda.Probe(ctx))
}

// DeviceMemory tells what is allocated on the device; nothing on the processor.
func (t *Terrain) DeviceMemory() []DeviceMemory {
	cuda := t.opened.Load()
	if cuda == nil {
		return nil
	}
	use := cuda.Memory()
	return []DeviceMemory{{HeldBytes: use.HeldBytes, PeakBytes: use.PeakBytes}}
}
