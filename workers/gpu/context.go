package gpu

import (
	"errors"
	"fmt"
	"unsafe"
)

// Device attributes of the driver's enumeration.
const (
	attrSMs   = 16
	attrMajor = 75
	attrMinor = 76
)

// Context is one GPU inside Do. Its methods make driver calls and are valid only there.
type Context struct {
	drv        *Driver
	group      *Group
	device     int32
	handle     uintptr
	capability int
	sms        int
	memory     memoryUse
}

// Capability is the compute capability times ten: 90 for a Hopper GPU.
func (c *Context) Capability() int { return c.capability }

// Multiprocessors is how many multiprocessors the GPU has.
func (c *Context) Multiprocessors() int { return c.sms }

// Alone says that the GPU is in a group of its own.
func (c *Context) Alone() bool { return len(c.group.contexts) == 1 }

// use makes the context the thread's current one.
func (c *Context) use() error {
	t := c.group.thread
	if t.current == c.handle {
		return nil
	}
	if err := c.check("cuCtxSetCurrent", c.drv.p.ctxSetCurrent.Call(c.handle)); err != nil {
		return err
	}
	t.current = c.handle
	return nil
}

// check translates an answer and remembers the one that lost the device.
func (c *Context) check(op string, r uintptr) error {
	if int32(r) == 0 {
		return nil
	}
	err := c.drv.check(op, r)
	if e, ok := errors.AsType[*Error](err); ok && e.Code.Sticky() {
		c.group.lost.CompareAndSwap(nil, e)
	}
	return err
}

// Check translates the answer of a driver-like call made elsewhere (a library that
// queues work on this context) and remembers a lost device.
func (c *Context) Check(op string, r uintptr) error { return c.check(op, r) }

// Current makes the context the thread's current one before calls into other libraries.
func (c *Context) Current() error { return c.use() }

// Synchronize waits for all work of the context.
func (c *Context) Synchronize() error {
	if err := c.use(); err != nil {
		return err
	}
	return c.check("cuCtxSynchronize", c.drv.p.ctxSync.Call())
}

// MemoryInfo gives free and total bytes of the GPU's memory.
func (c *Context) MemoryInfo() (freeBytes, totalBytes uint64, err error) {
	if err := c.use(); err != nil {
		return 0, 0, err
	}
	err = c.check("cuMemGetInfo", c.drv.p.memInfo.Call(uintptr(unsafe.Pointer(&freeBytes)), uintptr(unsafe.Pointer(&totalBytes))))
	return freeBytes, totalBytes, err
}

func (c *Context) release() error {
	if c.group.thread.current == c.handle {
		c.drv.p.ctxSetCurrent.Call(0)
		c.group.thread.current = 0
	}
	return c.drv.check("cuDevicePrimaryCtxRelease", c.drv.p.ctxRelease.Call(uintptr(c.device)))
}

func (d *Driver) attribute(dev int32, attr int) (int, error) {
	var v int32
	err := d.check("cuDeviceGetAttribute", d.p.attribute.Call(uintptr(unsafe.Pointer(&v)), uintptr(attr), uintptr(dev)))
	if err != nil {
		return 0, fmt.Errorf("gpu: attribute %d: %w", attr, err)
	}
	return int(v), nil
}
