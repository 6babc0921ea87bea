package main

import (
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"telefuser/internal/config"
	"telefuser/workers/contract"
	"telefuser/workers/engine"
	"telefuser/workers/gpu"
)

// footprintsPath is where a data directory keeps what engines were measured to hold.
func footprintsPath(c config.Config) string { return filepath.Join(c.DataDir, "footprints.json") }

// footprintKeeper writes down what engines are measured to hold of their GPUs.
type footprintKeeper struct {
	path string
	log  *slog.Logger
	mu   sync.Mutex
}

// learn is an engine.Config's OnPhase. It writes only what is new, so after the first jobs it has nothing left to do.
func (k *footprintKeeper) learn(desc engine.Description, phase *engine.PhaseFacts) {
	if len(desc.Devices) == 0 || desc.Devices[0].Name == nil {
		return
	}
	key := engine.FootprintKey(desc.Contract.Name, desc.Contract.Version, *desc.Devices[0].Name, len(desc.Devices))
	k.mu.Lock()
	defer k.mu.Unlock()
	all, err := engine.LoadFootprints(k.path)
	if err != nil {
		k.log.Warn("what engines need is measured anew", "error", err)
	}
	f := all[key]
	if !f.Learn(phase, time.Now().UTC()) {
		return
	}
	all[key] = f
	if err := all.Save(k.path); err != nil {
		k.log.Warn("what an engine needs is not kept", "error", err)
	}
}

// footprintOf is what was measured of a pipeline on a kind of GPU.
func footprintOf(all engine.Footprints, c contract.Contract, device string, group int) engine.Footprint {
	return all[engine.FootprintKey(c.Name, c.Version, device, group)]
}

// freeBytes is what is free of a GPU, or nil where NVML does not tell. What the driver keeps for itself counts as used.
func freeBytes(info gpu.DeviceInfo) *int64 {
	if info.Telemetry == nil || info.Telemetry.MemoryUsedBytes == nil || *info.Telemetry.MemoryUsedBytes > info.MemoryBytes {
		return nil
	}
	free := int64(info.MemoryBytes - *info.Telemetry.MemoryUsedBytes)
	return &free
}

// sessionsThatFit is how many sessions, at most so many, an engine can hold on each of the groups, as far as that was measured.
func sessionsThatFit(all []gpu.DeviceInfo, known engine.Footprints, c contract.Contract, groups [][]string, most int) int {
	fit := most
	for _, group := range groups {
		for _, id := range group {
			info, err := findDevice(all, id)
			if err != nil {
				continue // its engine says so
			}
			free := freeBytes(info)
			if free == nil {
				continue
			}
			if n, measured := footprintOf(known, c, info.Name, len(group)).Sessions(*free, most); measured {
				fit = min(fit, max(n, 1)) // whether the one fits, its engine finds out
			}
		}
	}
	return fit
}
