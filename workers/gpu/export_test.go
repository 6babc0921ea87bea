package gpu

import (
	"context"
	"errors"
)

// OpenMonitorAt opens an NVML at a path.
func OpenMonitorAt(path string) (*Monitor, error) {
	t, err := openNVML(path)
	if err != nil {
		return nil, err
	}
	return &Monitor{t: t}, nil
}

// InventoryOf lists the GPUs of a driver as a monitor sees them, which may be nil.
func (d *Driver) InventoryOf(ctx context.Context, m *Monitor) ([]DeviceInfo, error) {
	if m == nil {
		return d.inventory(ctx, nil)
	}
	return d.inventory(ctx, m.t)
}

// IsNVML says whether an error is NVML's refusal.
func IsNVML(err error) bool { return errors.Is(err, errNVML) }

// Overlap finds two buffers that share memory and a step, by comparing every pair.
func (p *Plan) Overlap() (a, b string, found bool) {
	for i, x := range p.blocks {
		for _, y := range p.blocks[:i] {
			steps := x.first <= y.last && y.first <= x.last
			bytes := x.offset < y.offset+y.bytes && y.offset < x.offset+x.bytes
			if steps && bytes || x.offset%arenaAlign != 0 {
				return x.name, y.name, true
			}
		}
	}
	return "", "", false
}
