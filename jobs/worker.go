package jobs

import "time"

// WorkerInfo is what a live worker says about itself.
type WorkerInfo struct {
	Owner    string `json:"owner"`
	Pipeline string `json:"pipeline"`
	Slots    int    `json:"slots"`
	Busy     int    `json:"busy"`
	Version  string `json:"version"`
	// Devices are the names of its device groups.
	Devices []string `json:"devices,omitempty"`
	// SeenAt is the time of its last heartbeat, by the clock of Redis.
	SeenAt time.Time `json:"-"`
}
