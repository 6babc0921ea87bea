package main

import (
	"context"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/internal/config"
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

// shownGPUs shows the GPUs of this machine where the settings give any to engines; nil where they do not, or nothing can be known.
func shownGPUs(ctx context.Context, c config.Config) prometheus.Collector {
	if c.Worker.GPUs+c.Worker.GPUMap+c.Stream.WorkerGPUMap == "" {
		return nil
	}
	all, err := gpu.Inventory(ctx)
	if err != nil {
		return nil // the engines say so, with what follows from it
	}
	monitor, err := gpu.OpenMonitor() // it lives as long as the process
	if err != nil {
		return nil
	}
	return gpuCollector{devices: all, read: monitor.Read}
}
