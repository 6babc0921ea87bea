//go:build !linux

package engine

func resetPeakMemory(int) {}

// peakMemoryBytes is not known here.
func peakMemoryBytes(int) *int64 { return nil }
