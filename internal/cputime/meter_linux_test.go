package cputime_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"telefuser/internal/cputime"
)

// used is the processor time of a clock of the kernel's.
func used(t *testing.T, clock int32) time.Duration {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// burn works until this thread has used so much processor time, and lets others have it now and then.
func burn(t *testing.T, d time.Duration) {
	t.Helper()
	for from := used(t, unix.CLOCK_THREAD_CPUTIME_ID); used(t, unix.CLOCK_THREAD_CPUTIME_ID)-from < d; {
		runtime.Gosched()
	}
}

func TestMeterCountsItsStretches(t *testing.T) {
	var m cputime.Meter
	m.Start()
	burn(t, 20*time.Millisecond)
	m.Stop()
	first := m.Sum()
	if first < 20*time.Millisecond {
		t.Errorf("20 ms of work count as %v", first)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	burn(t, 20*time.Millisecond)
	m.Start()
	m.Stop()
	if m.Sum()-first > 10*time.Millisecond {
		t.Errorf("%v were counted that lie between two stretches", m.Sum()-first)
	}
	m.Add(time.Second)
	if m.Sum()-first < time.Second {
		t.Error("what another meter counted is not added")
	}
}

// TestMetersDoNotCountEachOthersWork has more workers than threads that may run at once, which all give way all the time.
func TestMetersDoNotCountEachOthersWork(t *testing.T) {
	before := used(t, unix.CLOCK_PROCESS_CPUTIME_ID)
	meters := make([]cputime.Meter, 4*runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i := range meters {
		group.Go(func() {
			meters[i].Start()
			burn(t, 5*time.Millisecond)
			meters[i].Stop()
		})
	}
	group.Wait()
	var sum time.Duration
	for _, m := range meters {
		sum += m.Sum()
	}
	if all := used(t, unix.CLOCK_PROCESS_CPUTIME_ID) - before; sum > all || sum < time.Duration(len(meters))*5*time.Millisecond {
		t.Errorf("%d workers have used %v, the whole process %v", len(meters), sum, all)
	}
}
