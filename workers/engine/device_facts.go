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
