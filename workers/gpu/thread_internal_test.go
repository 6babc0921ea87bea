package gpu

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestThreadRunsAllOnOneOSThread(t *testing.T) {
	th := startThread()
	defer th.stop()
	ids := map[int]bool{}
	for range 20 {
		if err := th.do(context.Background(), func() error { ids[syscall.Gettid()] = true; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(ids) != 1 || ids[syscall.Gettid()] && len(ids) > 1 {
		t.Errorf("ran on OS threads %v, want one", ids)
	}
}

func TestThreadGoesOnWithItsOwnWork(t *testing.T) {
	th := startThread()
	defer th.stop()
	var order []int
	err := th.do(context.Background(), func() error {
		order = append(order, syscall.Gettid())
		err := th.do(context.Background(), func() error { order = append(order, syscall.Gettid()); return ErrNotReady })
		order = append(order, syscall.Gettid())
		return err
	})
	if len(order) != 3 || order[0] != order[1] || order[1] != order[2] || !errors.Is(err, ErrNotReady) {
		t.Errorf("ran on threads %v and ended with %v", order, err)
	}
}

func TestThreadCarriesPanicsBackAndLivesOn(t *testing.T) {
	th := startThread()
	defer th.stop()
	err := th.do(context.Background(), func() error { panic("odd shape") })
	var p *PanicError
	if !errors.As(err, &p) || p.Value != "odd shape" || !strings.Contains(string(p.Stack), "TestThreadCarriesPanicsBack") {
		t.Fatalf("got %v, want the panic with its stack", err)
	}
	if err := th.do(context.Background(), func() error { return nil }); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

func TestThreadCancelsOnlyWhileQueued(t *testing.T) {
	th := startThread()
	defer th.stop()
	started, release, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	running, cancelRunning := context.WithCancel(context.Background())
	go func() {
		first <- th.do(running, func() error { close(started); <-release; return nil })
	}()
	<-started
	queued, cancelQueued := context.WithCancel(context.Background())
	cancelQueued()
	if err := th.do(queued, func() error { t.Error("cancelled work ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("queued: %v, want canceled", err)
	}
	waiting, cancelWaiting := context.WithCancel(context.Background())
	third := make(chan error, 1)
	go func() { third <- th.do(waiting, func() error { t.Error("cancelled work ran"); return nil }) }()
	cancelWaiting() // before or while it waits: both must end it although the thread is busy
	if err := <-third; !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v, want canceled", err)
	}
	deadline, cancelDeadline := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancelDeadline()
	if err := th.do(deadline, func() error { t.Error("late work ran"); return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting too long: %v, want the deadline", err)
	}
	cancelRunning()
	select {
	case err := <-first:
		t.Errorf("running work ended with its context: %v", err)
	default:
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("running: %v", err)
	}
}

func TestThreadStopped(t *testing.T) {
	th := startThread()
	th.stop()
	if err := th.do(context.Background(), func() error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestNoDriver(t *testing.T) {
	_, err := open([]string{"libno-such-driver.so.1"})
	if !errors.Is(err, ErrNoDriver) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want ErrNoDriver in one line", err)
	}
	if _, err := open([]string{"libc.so.6"}); !errors.Is(err, ErrNoDriver) {
		t.Errorf("a library without the driver's functions: %v, want ErrNoDriver", err)
	}
}

func TestFormatUUID(t *testing.T) {
	b := [16]byte{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	if got, want := formatUUID(b), "GPU-deadbeef-0102-0304-0506-0708090a0b0c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestThreadEndedFromInside(t *testing.T) {
	th := startThread()
	if err := th.do(context.Background(), func() error { runtime.Goexit(); return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	<-th.done
}
