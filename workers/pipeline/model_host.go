package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"telefuser/workers/contract"
	"telefuser/workers/models/clip"
	"telefuser/workers/models/machine"
	"telefuser/workers/models/umt5"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/world"
)

// modelHost is what the pipelines of all models with weights have in common: where they run, and what they were read from.
type modelHost struct {
	contract contract.Contract
	shape    modelShape
	options  Options
	// The rest is there between load and close. machine is opened for those who only look, from any goroutine; not before its backends are made.
	opened  *machine.Machine
	machine atomic.Pointer[machine.Machine]
	weights *modelWeights
	texts   *umt5.Texts
}

// steps of loading, as shares of the whole.
const (
	loadFound = 0.05
	loadRead  = 0.9
	loadWarm  = 1.0
)

// load finds the weights, opens the device, has the model read and warmed up. It fails with ErrInvalid where there are no weights, or none that fit, before it
// touches a device; then, and after any other error, close is to be called.
func (h *modelHost) load(ctx context.Context, report func(share float64), read func(m *machine.Machine, b wan.WorldBackends, w *modelWeights) error, warm func(m *machine.Machine) error) error {
	report(0)
	if len(h.options.Devices) == 0 && !h.contract.Device.CPU {
		return fmt.Errorf("%w: %s needs a GPU", ErrInvalid, h.contract.Name)
	}
	w, err := h.shape.open(h.options)
	if err != nil {
		return err
	}
	h.weights = w
	report(loadFound)
	m, err := openMachine(ctx, h.options)
	if err != nil {
		return err
	}
	defer h.machine.Store(m)
	h.opened = m
	b, err := m.Backends(ctx)
	if err != nil {
		return modelError(err)
	}
	if h.texts, err = textsOn(ctx, m, w); err != nil {
		return modelError(err)
	}
	if err := read(m, b, w); err != nil {
		return modelError(err)
	}
	report(loadRead)
	if err := w.done(); err != nil {
		return err
	}
	if err := warm(m); err != nil {
		return modelError(err)
	}
	report(loadWarm)
	return ctx.Err()
}

// openMachine takes the processor, or the one GPU of the options.
func openMachine(ctx context.Context, o Options) (*machine.Machine, error) {
	switch len(o.Devices) {
	case 0:
		return machine.OnProcessor(), nil
	case 1:
		m, err := machine.OnGPU(ctx, o.Devices[0], o.drivers...)
		return m, deviceLoadError(err)
	}
	return nil, fmt.Errorf("%w: the model runs on one GPU, not on %d", ErrInvalid, len(o.Devices))
}

// accepts is the contract, marked where the weights come from a seed.
func (h *modelHost) accepts() contract.Contract {
	c := h.contract
	c.Weights = weightsMark(h.options)
	return c
}

// Probe has the GPU run a small kernel. It fails with ErrDeviceLost where that goes wrong.
func (h *modelHost) Probe(ctx context.Context) error { return deviceError(h.machine.Load().Probe(ctx)) }

// DeviceMemory tells what is allocated on the GPU; nothing on the processor.
func (h *modelHost) DeviceMemory() []DeviceMemory {
	use, known := h.machine.Load().Memory()
	if !known {
		return nil
	}
	return []DeviceMemory{{HeldBytes: use.HeldBytes, PeakBytes: use.PeakBytes}}
}

// close lets the files and the device go.
func (h *modelHost) close() error {
	var err error
	if h.weights != nil {
		err = h.weights.close()
	}
	h.texts, h.weights = nil, nil
	h.machine.Store(nil)
	err = errors.Join(err, deviceError(h.opened.Close()))
	h.opened = nil
	return err
}

// modelError translates the models' errors.
func modelError(err error) error {
	for _, invalid := range []error{world.ErrConfig, wan.ErrInput, wan.ErrConfig, umt5.ErrText, clip.ErrPicture, errWorldState} {
		if errors.Is(err, invalid) {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return deviceError(err)
}
