package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// liveTimerSlack is how much later than asked a timer of a process with live sessions may go off. Frames arrive no worse for it, and Go's watcher, which otherwise looks
// many times at whether an encoding still runs, costs less: docs/benchmarks.md.
const liveTimerSlack = time.Millisecond

// relaxTimers lets the kernel be late with the timers of this process's threads, by so much; threads and processes that they begin are like them. The error names the
// threads that stay exact: all but the caller's where CAP_SYS_NICE is missing.
func relaxTimers(slack time.Duration) error {
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		return fmt.Errorf("timer slack: %w", err)
	}
	var errs []error
	for _, thread := range threads {
		// A thread has the setting under its own number, where /proc does not list it.
		err := os.WriteFile("/proc/"+filepath.Base(thread)+"/timerslack_ns", strconv.AppendInt(nil, slack.Nanoseconds(), 10), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("timer slack: %w", err))
		}
	}
	return errors.Join(errs...)
}
