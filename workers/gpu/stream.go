package gpu

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"
)

// Stream is a queue of work on one GPU. Streams are non-blocking: they never wait for
// the null stream, which would serialize the GPUs of a group.
type Stream struct {
	ctx        *Context
	handle     uintptr
	overlapped overlapped
}

// NewStream makes a stream.
func (c *Context) NewStream() (*Stream, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	s := &Stream{ctx: c}
	const nonBlocking = 1
	err := c.check("cuStreamCreate", c.drv.p.streamCreate.Call(uintptr(unsafe.Pointer(&s.handle)), nonBlocking))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Handle is the driver's handle, for libraries that queue work on it.
func (s *Stream) Handle() uintptr { return s.handle }

// Context is the GPU on which the stream runs.
func (s *Stream) Context() *Context { return s.ctx }

// Synchronize waits for everything queued.
func (s *Stream) Synchronize() error {
	if err := s.ctx.use(); err != nil {
		return err
	}
	return s.ctx.check("cuStreamSynchronize", s.ctx.drv.p.streamSync.Call(s.handle))
}

// Wait waits for everything queued, or until ctx ends: the way to notice a kernel that
// hangs. The work itself goes on; only the end of the process stops it.
func (s *Stream) Wait(ctx context.Context) error {
	if err := s.ctx.use(); err != nil {
		return err
	}
	const pauseMax = time.Millisecond
	pause := 10 * time.Microsecond
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		idle, err := s.Idle()
		if idle || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gpu: wait for stream: %w", ctx.Err())
		case <-timer.C:
			pause = min(2*pause, pauseMax)
			timer.Reset(pause)
		}
	}
}

// Idle says whether everything queued is done.
func (s *Stream) Idle() (bool, error) {
	if err := s.ctx.use(); err != nil {
		return false, err
	}
	err := s.ctx.check("cuStreamQuery", s.ctx.drv.p.streamQuery.Call(s.handle))
	if errors.Is(err, ErrNotReady) {
		return false, nil
	}
	return err == nil, err
}

// Record queues a mark: the event happens when the work queued before it is done.
func (s *Stream) Record(e *Event) error {
	if err := s.ctx.use(); err != nil {
		return err
	}
	return s.ctx.check("cuEventRecord", s.ctx.drv.p.eventRecord.Call(e.handle, s.handle))
}

// WaitEvent lets later work on this stream wait for an event, which may be another GPU's.
func (s *Stream) WaitEvent(e *Event) error {
	if err := s.ctx.use(); err != nil {
		return err
	}
	return s.ctx.check("cuStreamWaitEvent", s.ctx.drv.p.streamWait.Call(s.handle, e.handle, 0))
}

// Close destroys the stream once its work is done.
func (s *Stream) Close() error {
	if err := s.ctx.use(); err != nil {
		return err
	}
	return s.ctx.check("cuStreamDestroy", s.ctx.drv.p.streamDestroy.Call(s.handle))
}
