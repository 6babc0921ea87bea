//go:build !linux

package gpu

// threadID is unknown here, where no driver is either: no call is taken for one on the device's own thread.
func threadID() int { return 0 }
