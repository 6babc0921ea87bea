package main

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/workers/engine"
	"telefuser/workers/gpu"
)

// gpuCollector shows what NVML says of some GPUs at the moment of asking. What NVML does not know is absent, never 0.
type gpuCollector struct {
	devices []gpu.DeviceInfo
	read    func(uuid string) (*gpu.Telemetry, error)
}

// gpuGauge is one thing that is shown of each GPU.
type gpuGauge struct {
	desc  *prometheus.Desc
	value func(t *gpu.Telemetry) *float64
}

func gpuGauges() []gpuGauge {
	gauge := func(name, help string, value func(t *gpu.Telemetry) *float64) gpuGauge {
		return gpuGauge{prometheus.NewDesc("telefuser_gpu_"+name, help, []string{"gpu", "uuid"}, nil), value}
	}
	return []gpuGauge{
		gauge("memory_used_bytes", "Memory of the GPU that all processes hold.", func(t *gpu.Telemetry) *float64 { return number(t.MemoryUsedBytes, 1) }),
		gauge("memory_total_bytes", "Memory of the GPU.", func(t *gpu.Telemetry) *float64 { return number(t.MemoryTotalBytes, 1) }),
		gauge("utilization_ratio", "Share of the time in which a kernel ran.", func(t *gpu.Telemetry) *float64 { return number(t.UtilizationPercent, 0.01) }),
		gauge("temperature_celsius", "Temperature of the GPU.", func(t *gpu.Telemetry) *float64 { return number(t.TemperatureCelsius, 1) }),
		gauge("power_watts", "Power that the GPU draws.", func(t *gpu.Telemetry) *float64 { return number(t.PowerWatts, 1) }),
		gauge("sm_clock_hertz", "Clock of the multiprocessors.", func(t *gpu.Telemetry) *float64 { return number(t.SMClockMHz, 1e6) }),
		gauge("ecc_uncorrected_errors", "Uncorrected memory errors since the driver was loaded.", func(t *gpu.Telemetry) *float64 { return number(t.ECCUncorrected, 1) }),
	}
}

// number is a known value in another unit.
func number[T uint32 | uint64 | float64](v *T, unit float64) *float64 {
	if v == nil {
		return nil
	}
	n := float64(*v) * unit
	return &n
}

// Describe names the gauges.
func (c gpuCollector) Describe(to chan<- *prometheus.Desc) {
	for _, g := range gpuGauges() {
		to <- g.desc
	}
}

// Collect asks NVML.
func (c gpuCollector) Collect(to chan<- prometheus.Metric) {
	for _, d := range c.devices {
		t, err := c.read(d.UUID)
		if err != nil {
			continue // a gap
		}
		for _, g := range gpuGauges() {
			if v := g.value(t); v != nil {
				to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, *v, strconv.Itoa(d.Ordinal), d.UUID)
			}
		}
	}
}

// showGPUs adds the gauges of the engines' GPUs to a process's metrics. Without NVML, or a driver, there is nothing to show, and a second
// worker of a process adds nothing.
func showGPUs(metrics prometheus.Registerer, engines []engine.Config) error {
	var ids []string
	for _, e := range engines {
		ids = append(ids, e.Devices...)
	}
	if len(ids) == 0 {
		return nil
	}
	all, err := gpu.Inventory(context.Background())
	if err != nil {
		return nil //nolint:nilerr // the engines say so, with what follows from it
	}
	monitor, err := gpu.OpenMonitor() // it lives as long as the process
	if err != nil {
		return nil //nolint:nilerr // nothing is known
	}
	c := gpuCollector{read: monitor.Read}
	for _, id := range ids {
		if info, err := findDevice(all, id); err == nil && !slices.ContainsFunc(c.devices, func(d gpu.DeviceInfo) bool { return d.UUID == info.UUID }) {
			c.devices = append(c.devices, info)
		}
	}
	err = metrics.Register(c)
	var taken prometheus.AlreadyRegisteredError
	if errors.As(err, &taken) {
		return nil
	}
	return err
}
