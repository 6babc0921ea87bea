package gpu

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// thread is one goroutine locked to one OS thread; the driver keeps its current
// context per OS thread, and calls from one thread need no lock of ours.
type thread struct {
	tasks   chan task // unbuffered: a task is either waiting in its caller or running
	quit    chan struct{}
	done    chan struct{}
	current uintptr // context last made current; touched on the thread alone
	id      atomic.Int64
}

type task struct {
	run  func() error
	done chan error // capacity 1: the thread never waits for a caller
}

func startThread() *thread {
	t := &thread{tasks: make(chan task), quit: make(chan struct{}), done: make(chan struct{})}
	go t.loop()
	return t
}

func (t *thread) loop() {
	runtime.LockOSThread()
	// Never unlocked: the OS thread ends with the goroutine, and the driver's per-thread state with it.
	defer close(t.done)
	defer t.id.Store(0) // another thread may get the number
	t.id.Store(int64(threadID()))
	for {
		select {
		case k := <-t.tasks:
			k.done <- guard(k.run)
		case <-t.quit:
			return
		}
	}
}

func guard(run func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return run()
}

// do runs fn on the thread. ctx cancels it only while it waits for its turn: a driver
// call that has begun cannot be taken back. What runs on the thread already goes on at once.
func (t *thread) do(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if id := threadID(); id != 0 && int64(id) == t.id.Load() {
		return guard(fn)
	}
	k := task{run: fn, done: make(chan error, 1)}
	select {
	case t.tasks <- k:
		return t.result(k)
	case <-ctx.Done():
		return ctx.Err()
	case <-t.done:
		return ErrClosed
	}
}

// result waits for a task that runs. Where the thread ended without answering, fn ended
// its goroutine itself.
func (t *thread) result(k task) error {
	select {
	case err := <-k.done:
		return err
	case <-t.done:
	}
	select {
	case err := <-k.done: // both happened: the answer counts
		return err
	default:
		return ErrClosed
	}
}

// stop ends the thread and waits for it. It must be called once.
func (t *thread) stop() {
	close(t.quit)
	<-t.done
}
