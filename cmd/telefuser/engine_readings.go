package main

import (
	"sync/atomic"

	"telefuser/workers/engine"
	"telefuser/workers/gpu"
	"telefuser/workers/pipeline"
)

// engineReadings tells an engine what NVML and the pipeline say of its GPUs.
type engineReadings struct {
	devices engineDevices
	// user is nil where the pipeline does not know what it holds.
	user pipeline.MemoryUser
	// monitor is nil where there is no NVML. It lives as long as the process: to close it might wait for a card that is gone.
	monitor *gpu.Monitor
	// overhead is what the driver holds of each GPU for this process beside what the pipeline has allocated; nil where unknown.
	overhead []atomic.Pointer[int64]
}

func newEngineReadings(d engineDevices, p pipeline.Pipeline) *engineReadings {
	r := &engineReadings{devices: d, overhead: make([]atomic.Pointer[int64], len(d.uuids))}
	r.user, _ = p.(pipeline.MemoryUser)
	if monitor, err := gpu.OpenMonitor(); err == nil { // without NVML everything is unknown
		r.monitor = monitor
	}
	return r
}

// read asks NVML, which may take a while, and keeps what it says of memory.
func (r *engineReadings) read() []engine.DeviceReading {
	all := make([]engine.DeviceReading, len(r.devices.uuids))
	for i, uuid := range r.devices.uuids {
		if r.monitor == nil {
			continue
		}
		before := r.held(i)
		t, err := r.monitor.Read(uuid)
		if err != nil {
			continue
		}
		all[i] = engine.DeviceReading{
			SMClockMHz: t.SMClockMHz, MemoryClockMHz: t.MemoryClockMHz, PowerWatts: t.PowerWatts, TemperatureCelsius: t.TemperatureCelsius,
			UtilizationPercent: t.UtilizationPercent, MemoryUsedBytes: t.MemoryUsedBytes,
		}
		if after := r.held(i); before != nil && *before == *after { // else it was allocating while NVML looked
			r.noteOverhead(i, t.MemoryUsedBytes, *after)
		}
	}
	return all
}

// held is what the pipeline has allocated on a GPU just now.
func (r *engineReadings) held(i int) *int64 {
	if r.user == nil {
		return nil
	}
	if all := r.user.DeviceMemory(); i < len(all) {
		return &all[i].HeldBytes
	}
	return new(int64)
}

// noteOverhead works out the driver's share where nobody else may have come meanwhile. The most that was seen counts.
func (r *engineReadings) noteOverhead(i int, used *uint64, held int64) {
	before := r.devices.usedBefore[i]
	if used == nil || before == nil || r.devices.sharing == gpu.Shared {
		return
	}
	bytes := int64(*used) - int64(*before) - held
	if old := r.overhead[i].Load(); bytes > 0 && (old == nil || bytes > *old) {
		r.overhead[i].Store(&bytes)
	}
}

// memory answers at once.
func (r *engineReadings) memory() []engine.DeviceMemory {
	all := make([]engine.DeviceMemory, len(r.devices.uuids))
	var known []pipeline.DeviceMemory
	if r.user != nil {
		known = r.user.DeviceMemory()
	}
	for i := range all {
		if i < len(known) {
			all[i].PeakBytes = &known[i].PeakBytes
		}
		all[i].OverheadBytes = r.overhead[i].Load()
	}
	return all
}
