package terrain

import (
	"context"
	"fmt"

	"telefuser/workers/gpu"
)

// Probe runs a small kernel on the device and checks its result. Its errors are those of package gpu.
func (c *CUDA) Probe(ctx context.Context) error {
	err := c.device.Do(ctx, func(g *gpu.Context) error { return g.Probe(ctx) })
	if err != nil {
		return fmt.Errorf("terrain: probe: %w", err)
	}
	return nil
}

// Memory tells what is allocated on the device. It may be asked from any goroutine.
func (c *CUDA) Memory() gpu.MemoryUse { return c.device.Memory() }
