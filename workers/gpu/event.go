package gpu

import (
	"time"
	"unsafe"
)

// Event is a mark in a stream.
type Event struct {
	ctx    *Context
	handle uintptr
}

// NewEvent makes an event that can be timed.
func (c *Context) NewEvent() (*Event, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	e := &Event{ctx: c}
	err := c.check("cuEventCreate", c.drv.p.eventCreate.Call(uintptr(unsafe.Pointer(&e.handle)), 0))
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Synchronize waits until the event has happened.
func (e *Event) Synchronize() error {
	if err := e.ctx.use(); err != nil {
		return err
	}
	return e.ctx.check("cuEventSynchronize", e.ctx.drv.p.eventSync.Call(e.handle))
}

// Since is the device's time between two events that have happened, in steps of about
// half a microsecond.
func (e *Event) Since(start *Event) (time.Duration, error) {
	if err := e.ctx.use(); err != nil {
		return 0, err
	}
	var ms float32
	err := e.ctx.check("cuEventElapsedTime", e.ctx.drv.p.eventElapsed.Call(uintptr(unsafe.Pointer(&ms)), start.handle, e.handle))
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

// Close destroys the event.
func (e *Event) Close() error {
	if err := e.ctx.use(); err != nil {
		return err
	}
	return e.ctx.check("cuEventDestroy", e.ctx.drv.p.eventDestroy.Call(e.handle))
}
