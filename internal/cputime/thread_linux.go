package cputime

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time that the caller's thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0 // every Linux has this clock
	}
	return time.Duration(t.Nano())
}
