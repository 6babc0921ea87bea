package terrain

import (
	"context"
	"fmt"

	"telefuser/workers/gpu"
)

// Fault is a failure on purpose, for tests of what surrounds a device.
type Fault string

// The faults.
const (
	FaultAssert Fault = "assert" // a failed assertion in a kernel
	FaultBounds Fault = "bounds" // a write out of bounds in a kernel
	FaultHang   Fault = "hang"   // a kernel without an end
	FaultMemory Fault = "memory" // an allocation over the top
)

// Faults lists them all.
func Faults() []Fault { return []Fault{FaultAssert, FaultBounds, FaultHang, FaultMemory} }

// Plant makes the device fail. It answers the error that a renderer would have met; after a hanging kernel it never answers.
func (c *CUDA) Plant(ctx context.Context, f Fault) error {
	const tooMuchBytes = 1 << 46 // more than any device has
	kinds := map[Fault]gpu.Ptr{FaultAssert: 1, FaultBounds: 2, FaultHang: 3}
	err := c.do(ctx, func() error {
		if f == FaultMemory {
			_, err := c.acc.take(tooMuchBytes)
			return err
		}
		const wordBytes = 256
		word, err := c.acc.take(wordBytes)
		if err != nil {
			return err
		}
		return firstError(c.acc.clear(word, wordBytes), c.acc.launch(kernelFault, 1, 1, 1, word, kinds[f]), c.acc.settle(), c.acc.give(word))
	})
	if err != nil {
		return fmt.Errorf("terrain: fault %s: %w", f, err)
	}
	return nil
}
