package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/internal/config"
	"telefuser/workers/gpu"
)

// TestGPUMetricsHaveGaps: what NVML does not tell, as in a container that has lost it, is absent and never 0.
func TestGPUMetricsHaveGaps(t *testing.T) {
	used, percent, watts := uint64(5), uint32(50), 83.5
	answers := map[string]*gpu.Telemetry{"GPU-a": {MemoryUsedBytes: &used, UtilizationPercent: &percent, PowerWatts: &watts}, "GPU-b": {}}
	devices := append(twoGPUs(), gpu.DeviceInfo{Ordinal: 2, UUID: "GPU-lost"})
	c := gpuCollector{devices: devices, read: func(uuid string) (*gpu.Telemetry, error) {
		if t, ok := answers[uuid]; ok {
			return t, nil
		}
		return nil, errors.New("unknown error")
	}}
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got = append(got, fmt.Sprint(f.GetName(), " ", m.GetLabel()[0].GetValue(), " ", m.GetLabel()[1].GetValue(), " ", m.GetGauge().GetValue()))
		}
	}
	want := []string{"telefuser_gpu_memory_used_bytes 0 GPU-a 5", "telefuser_gpu_power_watts 0 GPU-a 83.5", "telefuser_gpu_utilization_ratio 0 GPU-a 0.5"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestNoGPUHasNoMetrics(t *testing.T) {
	withoutDriver(t)
	var c config.Config
	for _, value := range []string{"", "0"} {
		c.Worker.GPUs = value
		if got := shownGPUs(t.Context(), c); got != nil {
			t.Errorf("GPUs %q: %v", value, got)
		}
	}
}
