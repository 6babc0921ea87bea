//go:build cgo

package gpu

import (
	"context"
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// goNVML reads NVML through NVIDIA's binding.
type goNVML struct{ lib nvml.Interface }

func openTelemetry() (telemetry, error) { return newGoNVML(nvml.New()) }

func openNVML(path string) (telemetry, error) { return newGoNVML(nvml.New(nvml.WithLibraryPath(path))) }

func newGoNVML(lib nvml.Interface) (telemetry, error) {
	if r := lib.Init(); r != nvml.SUCCESS {
		return nil, fmt.Errorf("%w: init: code %d", errNVML, r)
	}
	return &goNVML{lib: lib}, nil
}

func (g *goNVML) close() { _ = g.lib.Shutdown() }

func (g *goNVML) device(uuid string) (nvml.Device, error) {
	d, r := g.lib.DeviceGetHandleByUUID(uuid)
	if r != nvml.SUCCESS {
		return nil, fmt.Errorf("%w: device %s: code %d", errNVML, uuid, r)
	}
	return d, nil
}

func (g *goNVML) read(uuid string) (*Telemetry, error) {
	d, err := g.device(uuid)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{}
	if v, r := g.lib.SystemGetDriverVersion(); r == nvml.SUCCESS {
		t.DriverVersion = &v
	}
	if m, r := d.GetMemoryInfo(); r == nvml.SUCCESS {
		t.MemoryUsedBytes, t.MemoryTotalBytes = &m.Used, &m.Total
	}
	t.SMClockMHz = known(d.GetClockInfo(nvml.CLOCK_SM))
	t.MemoryClockMHz = known(d.GetClockInfo(nvml.CLOCK_MEM))
	t.PowerWatts = watts(known(d.GetPowerUsage()))
	t.PowerLimitWatts = watts(known(d.GetEnforcedPowerLimit()))
	t.TemperatureCelsius = known(d.GetTemperature(nvml.TEMPERATURE_GPU))
	if u, r := d.GetUtilizationRates(); r == nvml.SUCCESS {
		t.UtilizationPercent = &u.Gpu
	}
	t.ECCUncorrected = known(d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC))
	t.LinksActive = activeLinks(func(link int) (bool, bool) {
		s, r := d.GetNvLinkState(link)
		return s == nvml.FEATURE_ENABLED, r == nvml.SUCCESS
	})
	return t, nil
}

func known[T any](v T, r nvml.Return) *T {
	if r != nvml.SUCCESS {
		return nil
	}
	return &v
}

func (g *goNVML) nextXid(ctx context.Context, uuid string) (uint64, error) {
	d, err := g.device(uuid)
	if err != nil {
		return 0, err
	}
	set, r := g.lib.EventSetCreate()
	if r != nvml.SUCCESS {
		return 0, fmt.Errorf("%w: event set: code %d", errNVML, r)
	}
	defer func() { _ = set.Free() }()
	if r := d.RegisterEvents(nvml.EventTypeXidCriticalError, set); r != nvml.SUCCESS {
		return 0, fmt.Errorf("%w: register events: code %d", errNVML, r)
	}
	for ctx.Err() == nil {
		e, r := set.Wait(uint32(xidPoll / time.Millisecond))
		switch r {
		case nvml.SUCCESS:
			return e.EventData, nil
		case nvml.ERROR_TIMEOUT:
		default:
			return 0, fmt.Errorf("%w: wait for events: code %d", errNVML, r)
		}
	}
	return 0, ctx.Err()
}
