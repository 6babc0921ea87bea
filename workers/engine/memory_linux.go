package engine

import (
	"bytes"
	"os"
	"strconv"
)

// resetPeakMemory makes the kernel forget a process's peak. Where it may not, the peak is that of the process's whole life.
func resetPeakMemory(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/clear_refs", []byte("5"), 0)
}

// peakMemoryBytes is the most memory that a process has held; nil when unknown.
func peakMemoryBytes(pid int) *int64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(raw) {
		fields := bytes.Fields(line)
		if len(fields) == 3 && string(fields[0]) == "VmHWM:" && string(fields[2]) == "kB" {
			kib, err := strconv.ParseInt(string(fields[1]), 10, 64)
			if err != nil {
				return nil
			}
			size := kib << 10
			return &size
		}
	}
	return nil
}
