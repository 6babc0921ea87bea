package machine

import (
	"context"
	"errors"
	"fmt"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
	"telefuser/workers/models/wan"
)

// Machine is the processor, or one GPU. Each part of a model has a backend of its own, so that parts work beside each other. The errors of its methods are
// those of package gpu.
type Machine struct {
	driver  *gpu.Driver
	ordinal int
	device  *gpu.Device // nil on the processor
	made    []*kernels.Threaded
}

// OnProcessor is the processor.
func OnProcessor() *Machine { return &Machine{} }

// OnGPU takes the GPU with the given ordinal of this process's view, and has it run a small kernel. Drivers are paths of CUDA drivers to look at before the
// machine's own.
func OnGPU(ctx context.Context, ordinal int, drivers ...string) (*Machine, error) {
	m := OnProcessor()
	m.ordinal = ordinal
	var err error
	if m.driver, err = gpu.Open(drivers...); err != nil {
		return nil, fmt.Errorf("machine: %w", err)
	}
	if m.device, err = m.driver.OpenDevice(ctx, ordinal); err != nil {
		return nil, fmt.Errorf("machine: open GPU %d: %w", ordinal, err)
	}
	if err := m.device.Do(ctx, func(g *gpu.Context) error { return g.Probe(ctx) }); err != nil {
		return nil, errors.Join(fmt.Errorf("machine: probe GPU %d: %w", ordinal, err), m.device.Close()) //nolint:contextcheck // it is closed whatever has become of ctx
	}
	return m, nil
}

// GPU says that it is one.
func (m *Machine) GPU() bool { return m.device != nil }

// Activations is the type in which a model works here.
func (m *Machine) Activations() kernels.DType {
	if m.device == nil {
		return kernels.F32 // the processor has no faster way for bf16
	}
	return kernels.BF16
}

// Backend makes one for a part of a model. It needs none of the vendor's libraries but the driver: they would take seconds to load, and memory for each
// shape. Close ends it.
func (m *Machine) Backend(ctx context.Context) (kernels.Backend, error) {
	if m.device == nil {
		return kernels.NewCPU(kernels.CPUOptions{}), nil
	}
	made, err := kernels.OpenThreaded(ctx, m.driver, m.ordinal, kernels.CUDAOptions{})
	if err != nil {
		return nil, fmt.Errorf("machine: %w", err)
	}
	m.made = append(m.made, made)
	return made, nil
}

// Backends are one for each part of a model.
func (m *Machine) Backends(ctx context.Context) (b wan.WorldBackends, err error) {
	for _, at := range []*kernels.Backend{&b.Encode, &b.Denoise, &b.Decode} {
		if *at, err = m.Backend(ctx); err != nil {
			return b, err
		}
	}
	return b, nil
}

// Free is how many bytes a GPU has left for sessions; false on the processor.
func (m *Machine) Free(ctx context.Context) (bytes int64, known bool, err error) {
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

// Probe has a GPU run a small kernel and checks its numbers. The processor is well.
func (m *Machine) Probe(ctx context.Context) error {
	if m == nil || m.device == nil {
		return nil
	}
	return m.device.Do(ctx, func(g *gpu.Context) error { return g.Probe(ctx) })
}

// Memory tells what the backends have allocated on the GPU; false on the processor. It may be asked from any goroutine once all backends are made.
func (m *Machine) Memory() (use gpu.MemoryUse, known bool) {
	if m == nil || m.device == nil {
		return use, false
	}
	for _, part := range m.made {
		of := part.Memory()
		use.HeldBytes += of.HeldBytes
		use.PeakBytes += of.PeakBytes
	}
	return use, true
}

// Close gives everything back.
func (m *Machine) Close() error {
	if m == nil || m.device == nil {
		return nil
	}
	var all error
	for _, part := range m.made {
		all = errors.Join(all, part.Close())
	}
	return errors.Join(all, m.device.Close())
}
