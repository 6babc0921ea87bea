package engine

// DeviceFacts is what an engine knows of one of its devices. Nil means unknown.
type DeviceFacts struct {
	Name          *string `json:"name"`
	UUID          *string `json:"uuid"`
	DriverVersion *string `json:"driver_version"`
	// CUDAVersion is the newest that the driver speaks, such as "13.0".
	CUDAVersion *string `json:"cuda_version"`
	MemoryBytes *uint64 `json:"memory_bytes"`
}

// DeviceReading is what was read of one device at one moment. Nil means unknown.
type DeviceReading struct {
	SMClockMHz         *uint32
	MemoryClockMHz     *uint32
	PowerWatts         *float64
	TemperatureCelsius *uint32
	UtilizationPercent *uint32
	// MemoryUsedBytes is what all processes together hold of the device.
	MemoryUsedBytes *uint64
}

// DeviceMemory is what an engine holds of one device. Nil means unknown.
type DeviceMemory struct {
	// PeakBytes is the most that the engine has allocated so far, OverheadBytes what the driver holds for it on top.
	PeakBytes     *int64
	OverheadBytes *int64
}

// Bytes is both together.
func (m DeviceMemory) Bytes() *int64 {
	if m.PeakBytes == nil || m.OverheadBytes == nil {
		return nil
	}
	sum := *m.PeakBytes + *m.OverheadBytes
	return &sum
}

// PhaseFacts is what was read of an engine's devices during one phase of its work: loading, or a session.
type PhaseFacts struct {
	// Sessions is the most sessions that were open at once since the engine was loaded, which is what the peaks of memory belong to.
	Sessions int `json:"sessions"`
	// Devices are in the order of Description.Devices.
	Devices []DevicePhase `json:"devices"`
}

// DevicePhase is one device during a phase. Clocks, power and use are means of the readings, temperature and memory the most that was read.
// Nil means unknown: nobody told, or the phase was over before the first reading came.
type DevicePhase struct {
	Readings           int      `json:"readings"`
	SMClockMHz         *float64 `json:"sm_clock_mhz"`
	MemoryClockMHz     *float64 `json:"memory_clock_mhz"`
	PowerWatts         *float64 `json:"power_watts"`
	UtilizationPercent *float64 `json:"utilization_percent"`
	TemperatureCelsius *uint32  `json:"temperature_celsius"`
	MemoryUsedBytes    *uint64  `json:"memory_used_bytes"`
	EnginePeakBytes    *int64   `json:"engine_peak_bytes"`
	OverheadBytes      *int64   `json:"overhead_bytes"`
}

// Memory is what the engine held of the device.
func (d DevicePhase) Memory() DeviceMemory {
	return DeviceMemory{PeakBytes: d.EnginePeakBytes, OverheadBytes: d.OverheadBytes}
}
