package pipeline

import (
	"context"
	"errors"
	"fmt"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
	"telefuser/workers/models/wan"
)

// machine is where a model runs: the processor, or one GPU. Each part of a model has a backend of its own, so that parts work beside each other.
type machine struct {
	driver  *gpu.Driver
	ordinal int
	device  *gpu.Device // nil on the processor
	made    []*kernels.Threaded
	// choices remembers what was fastest for a shape.
	choices *kernels.Choices
}

// openMachine takes the processor, or the one GPU of the options, and has it run a small kernel. Its errors are the pipeline's.
func openMachine(ctx context.Context, o Options) (*machine, error) {
	m := &machine{choices: kernels.NewChoices()}
	if len(o.Devices) == 0 {
		return m, nil
	}
	if len(o.Devices) > 1 {
		return nil, fmt.Errorf("%w: the model runs on one GPU, not on %d", ErrInvalid, len(o.Devices))
	}
	m.ordinal = o.Devices[0]
	var err error
	if m.driver, err = gpu.Open(); err != nil {
		return nil, deviceLoadError(err)
	}
	if m.device, err = m.driver.OpenDevice(ctx, m.ordinal); err != nil {
		return nil, deviceLoadError(err)
	}
	if err := m.device.Do(ctx, func(g *gpu.Context) error { return g.Probe(ctx) }); err != nil {
		return nil, errors.Join(deviceLoadError(err), m.device.Close()) //nolint:contextcheck // it is closed whatever has become of ctx
	}
	return m, nil
}

// activations is the type in which a model works here.
func (m *machine) activations() kernels.DType {
	if m.device == nil {
		return kernels.F32 // the processor has no faster way for bf16
	}
	return kernels.BF16
}

// backend makes one for a part of a model, with the vendor's libraries beside our kernels where they are.
func (m *machine) backend(ctx context.Context) (kernels.Backend, error) {
	if m.device == nil {
		return kernels.NewCPU(kernels.CPUOptions{}), nil
	}
	o := kernels.CUDAOptions{Choices: m.choices, CuBLASLt: []string{"libcublasLt.so.13"}, CuDNN: []string{"libcudnn.so.9"}}
	made, err := kernels.OpenThreaded(ctx, m.driver, m.ordinal, o)
	if err != nil {
		made, err = kernels.OpenThreaded(ctx, m.driver, m.ordinal, kernels.CUDAOptions{Choices: m.choices})
	}
	if err != nil {
		return nil, err
	}
	m.made = append(m.made, made)
	return made, nil
}

// backends are one for each part of a model.
func (m *machine) backends(ctx context.Context) (b wan.WorldBackends, err error) {
	for _, at := range []*kernels.Backend{&b.Encode, &b.Denoise, &b.Decode} {
		if *at, err = m.backend(ctx); err != nil {
			return b, err
		}
	}
	return b, nil
}

// free is how many bytes a GPU has left; false on the processor.
func (m *machine) free(ctx context.Context) (bytes int64, known bool, err error) {
	if m.device == nil {
		return 0, false, nil
	}
	err = m.device.Do(ctx, func(g *gpu.Context) error {
		free, total, err := g.MemoryInfo()
		// A part stays free for what libraries take while they run.
		const share, least = 20, 2 << 30
		bytes = int64(free) - max(int64(total)/share, least)
		return err
	})
	return bytes, true, err
}

// probe has a GPU run a small kernel. It fails with ErrDeviceLost where that goes wrong.
func (m *machine) probe(ctx context.Context) error {
	if m == nil || m.device == nil {
		return nil
	}
	return deviceError(m.device.Do(ctx, func(g *gpu.Context) error { return g.Probe(ctx) }))
}

// memory tells what is allocated on the GPU; nothing on the processor. It may be asked from any goroutine.
func (m *machine) memory() []DeviceMemory {
	if m == nil || m.device == nil {
		return nil
	}
	var sum DeviceMemory
	for _, part := range m.made {
		use := part.Memory()
		sum.HeldBytes += use.HeldBytes
		sum.PeakBytes += use.PeakBytes
	}
	return []DeviceMemory{sum}
}

// close gives everything back.
func (m *machine) close() error {
	if m == nil || m.device == nil {
		return nil
	}
	var all error
	for _, part := range m.made {
		all = errors.Join(all, part.Close())
	}
	return deviceError(errors.Join(all, m.device.Close()))
}
