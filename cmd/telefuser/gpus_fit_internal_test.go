package main

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"telefuser/workers/contract"
	"telefuser/workers/engine"
	"telefuser/workers/gpu"
)

// measured is what two engines would have told: 1 GiB loaded, 3 GiB with one session, 4 GiB with two.
func measured() engine.Footprint {
	return engine.Footprint{LoadedBytes: 1 << 30, PeakBytes: map[int]int64{1: 3 << 30, 2: 4 << 30}}
}

func TestWhatFitsAsMeasured(t *testing.T) {
	declared, used := int64(20<<30), uint64(101<<30)
	c := contract.Contract{Name: "p", Version: "2", SessionsMax: 8, Device: contract.DeviceNeeds{GPUs: 1, MemoryBytes: &declared}}
	all := twoGPUs()
	all[0].Telemetry.MemoryUsedBytes = &used
	known := engine.Footprints{engine.FootprintKey("p", "2", "Card", 1): measured()}
	fit := fitOf(c, all, known)
	// 40 GiB free: 13 engines of 3 GiB; 8 sessions need 10. The second has 7 GiB, and nobody knows how many are free: 5 sessions.
	for i, want := range []struct {
		free              *int64
		engines, sessions int
	}{{ptr(int64(40 << 30)), 13, 8}, {nil, 2, 5}} {
		g := fit.GPUs[i]
		if g.Basis != fitMeasured || *g.EngineBytes != 3<<30 || *g.Engines != want.engines || *g.Sessions != want.sessions ||
			(g.FreeBytes == nil) != (want.free == nil) || want.free != nil && *g.FreeBytes != *want.free {
			t.Errorf("GPU %d: %+v, want %+v", i, g, want)
		}
	}
	if *fit.Engines != 15 {
		t.Errorf("%d engines", *fit.Engines)
	}
	for version, want := range map[string]fitBasis{"2": fitMeasured, "3": fitDeclared} {
		c.Version = version
		if got := fitOf(c, all, known).GPUs[0]; got.Basis != want {
			t.Errorf("version %s: %+v", version, got)
		}
	}
	c.Device.MemoryBytes = nil
	if got := fitOf(c, all, known); got.Engines != nil || got.GPUs[0].Basis != fitUnknown || got.GPUs[0].Engines != nil {
		t.Errorf("nothing known: %+v", got)
	}
}

func ptr[T any](v T) *T { return &v }

func TestWhatFitsIsPrinted(t *testing.T) {
	c := contract.Contract{Name: "p", Version: "1", SessionsMax: 2}
	known := engine.Footprints{engine.FootprintKey("p", "1", "Card", 1): measured()}
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	gpuReport{Fits: []gpuFit{fitOf(c, twoGPUs(), known)}}.printFits(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if got := strings.Fields(lines[5]); strings.Join(got, " ") != "0 p unknown 3.0 GiB, measured 47 2" {
		t.Errorf("%q", got)
	}
}

func TestSessionsThatFit(t *testing.T) {
	c := contract.Contract{Name: "p", Version: "1"}
	known := engine.Footprints{engine.FootprintKey("p", "1", "Card", 1): measured()}
	all := twoGPUs()
	for name, test := range map[string]struct {
		used   *uint64
		known  engine.Footprints
		groups [][]string
		want   int
	}{
		"plenty":         {ptr(uint64(0)), known, [][]string{{"0"}}, 8},
		"5 GiB free":     {ptr(uint64(136 << 30)), known, [][]string{{"0"}}, 3},
		"1 GiB free":     {ptr(uint64(140 << 30)), known, [][]string{{"0"}}, 1},
		"use unknown":    {nil, known, [][]string{{"0"}}, 8},
		"never measured": {ptr(uint64(140 << 30)), nil, [][]string{{"0"}}, 8},
		"on the CPU":     {ptr(uint64(140 << 30)), known, [][]string{{"cpu"}}, 8},
		"another group":  {ptr(uint64(140 << 30)), known, [][]string{{"0", "1"}}, 8},
		"the least":      {ptr(uint64(136 << 30)), known, [][]string{{"GPU-b"}, {"0"}}, 3},
	} {
		all[0].Telemetry = &gpu.Telemetry{MemoryUsedBytes: test.used}
		if got := sessionsThatFit(all, test.known, c, test.groups, 8); got != test.want {
			t.Errorf("%s: %d sessions, want %d", name, got, test.want)
		}
	}
}

func TestFootprintsAreKept(t *testing.T) {
	var log bytes.Buffer
	keeper := &footprintKeeper{path: filepath.Join(t.TempDir(), "footprints.json"), log: slog.New(slog.NewTextHandler(&log, nil))}
	name, peak, overhead := "Card", int64(2<<30), int64(1<<30)
	desc := engine.Description{Contract: contract.Contract{Name: "p", Version: "1"}, Devices: []engine.DeviceFacts{{Name: &name}}}
	phase := &engine.PhaseFacts{Sessions: 1, Devices: []engine.DevicePhase{{EnginePeakBytes: &peak, OverheadBytes: &overhead}}}
	keeper.learn(engine.Description{Contract: desc.Contract}, phase) // on the processor
	keeper.learn(desc, &engine.PhaseFacts{Devices: []engine.DevicePhase{{EnginePeakBytes: &peak}}})
	if all, err := engine.LoadFootprints(keeper.path); err != nil || len(all) > 0 {
		t.Errorf("nothing was told, but %v, %v", all, err)
	}
	keeper.learn(desc, phase)
	all, err := engine.LoadFootprints(keeper.path)
	if bytes, ok := all[engine.FootprintKey("p", "1", "Card", 1)].Bytes(1); err != nil || !ok || bytes != 3<<30 {
		t.Errorf("%v, %v", all, err)
	}
	if log.Len() > 0 {
		t.Errorf("the log says %s", log.String())
	}
}

func TestPhasesInWords(t *testing.T) {
	d := engine.DevicePhase{Readings: 3, SMClockMHz: ptr(1410.4), MemoryUsedBytes: ptr(uint64(3 << 30)), EnginePeakBytes: ptr(int64(1 << 30))}
	want := "p on device 1, sessions 2: 1.0 GiB allocated, unknown of the driver's; 3.0 GiB in use by all; 1410 MHz, unknown, unknown; 3 readings"
	if got := phaseLine("p", 1, 2, d); got != want {
		t.Errorf("%s", got)
	}
}
