package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"telefuser/workers/contract"
	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
	"telefuser/workers/pipeline"
)

// withoutDriver skips a test on a machine with NVIDIA software.
func withoutDriver(t *testing.T) {
	t.Helper()
	if _, err := gpu.Open(); !errors.Is(err, gpu.ErrNoDriver) {
		t.Skipf("this machine has a GPU's driver: %v", err)
	}
}

func TestAMachineWithoutAGPUSaysSo(t *testing.T) {
	withoutDriver(t)
	run := func(args ...string) string {
		var out bytes.Buffer
		cmd := newGPUsCommand()
		cmd.SetOut(&out)
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Errorf("gpus %v: %v", args, err)
		}
		return out.String()
	}
	if got := run(); got != "no GPU: no NVIDIA driver on this machine\n" {
		t.Errorf("gpus: %q", got)
	}
	var report gpuReport
	if err := json.Unmarshal([]byte(run("--probe", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if report.GPUs == nil || len(report.GPUs) > 0 || report.Reason == "" || len(report.Fits) != len(pipeline.Names()) {
		t.Errorf("report %+v", report)
	}
	if _, err := benchKernels(t.Context(), 0, kernels.CUDAOptions{}, kernels.BenchOptions{}); !errors.Is(err, gpu.ErrNoDriver) {
		t.Errorf("bench kernels: %v", err)
	}
	if _, err := openEngineDevices(t.Context(), "0", gpu.Alone); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("an engine on a GPU that is not there: %v", err)
	}
	if d, err := openEngineDevices(t.Context(), "", gpu.Alone); err != nil || d.words != "" || d.watch(t.Context()) != nil {
		t.Errorf("an engine on the processor: %+v, %v", d, err)
	}
}

func twoGPUs() []gpu.DeviceInfo {
	driver, watts := "580.1", 83.4
	return []gpu.DeviceInfo{
		{
			Ordinal: 0, UUID: "GPU-a", Name: "Card", Capability: "9.0", MemoryBytes: 141 << 30, CUDAVersion: "13.0", DriverVersion: &driver,
			Peers: []int{1}, Health: gpu.HealthOK, Telemetry: &gpu.Telemetry{PowerWatts: &watts},
		},
		{Ordinal: 1, UUID: "GPU-b", Name: "Card", Capability: "9.0", MemoryBytes: 7 << 30, CUDAVersion: "13.0", Health: gpu.HealthUnknown, HealthReason: "no NVML on this machine"},
	}
}

func TestUnknownFactsAreShownAsUnknown(t *testing.T) {
	ok := "ok"
	all := twoGPUs()
	report := gpuReport{GPUs: []gpuEntry{{DeviceInfo: all[0], Probe: &ok}, {DeviceInfo: all[1]}}, Fits: []gpuFit{{Pipeline: "p"}}}
	var out bytes.Buffer
	if err := report.print(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, words := range map[int][]string{
		1: {"141.0 GiB", "580.1", "13.0", "ok", "83 W", "unknown"},
		2: {"7.0 GiB", "unknown (no NVML on this machine)", "not run"},
		5: {"GPU-a", "[1]"}, 6: {"GPU-b", "itself"},
	} {
		for _, word := range words {
			if !strings.Contains(lines[i], word) {
				t.Errorf("line %d lacks %q: %s", i, word, lines[i])
			}
		}
	}
	if strings.Contains(out.String(), " 0 MHz") || strings.Contains(out.String(), "0.0 GiB") {
		t.Errorf("an unknown fact is shown as nothing:\n%s", out.String())
	}
}

func TestWhatFits(t *testing.T) {
	needs := func(gpus int, bytes int64) contract.Contract {
		c := contract.Contract{Name: "p", Device: contract.DeviceNeeds{GPUs: gpus}}
		if bytes > 0 {
			c.Device.MemoryBytes = &bytes
		}
		return c
	}
	if fit := fitOf(needs(1, 0), twoGPUs(), nil); fit.Engines != nil {
		t.Errorf("unknown need: %d engines", *fit.Engines)
	}
	for _, test := range []struct{ gpus, gibibytes, want int }{{1, 10, 14}, {1, 7, 21}, {2, 7, 10}, {1, 200, 0}, {0, 141, 1}} {
		if fit := fitOf(needs(test.gpus, int64(test.gibibytes)<<30), twoGPUs(), nil); *fit.Engines != test.want {
			t.Errorf("%d GPUs with %d GiB: %d engines, want %d", test.gpus, test.gibibytes, *fit.Engines, test.want)
		}
	}
}

func TestDevicesAreFoundByNumberAndUUID(t *testing.T) {
	for id, want := range map[string]string{"0": "GPU-a", "1": "GPU-b", "GPU-b": "GPU-b"} {
		if info, err := findDevice(twoGPUs(), id); err != nil || info.UUID != want {
			t.Errorf("%s: %s, %v", id, info.UUID, err)
		}
	}
	for _, id := range []string{"2", "-1", "", "GPU-c", "0x0"} {
		if _, err := findDevice(twoGPUs(), id); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
	var d engineDevices
	for _, info := range twoGPUs() {
		d.add(info)
	}
	if d.words != "Card, driver 580.1, CUDA 13.0; Card, driver unknown, CUDA 13.0" || d.facts[1].DriverVersion != nil || *d.facts[0].MemoryBytes != 141<<30 {
		t.Errorf("%+v", d)
	}
}
