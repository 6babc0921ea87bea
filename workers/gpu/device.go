package gpu

import (
	"context"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Device is one GPU with its primary context and its own OS thread.
type Device struct {
	group *Group
}

// OpenDevice takes the GPU with the given ordinal of this process's view.
func (d *Driver) OpenDevice(ctx context.Context, ordinal int) (*Device, error) {
	g, err := d.OpenGroup(ctx, ordinal)
	if err != nil {
		return nil, err
	}
	return &Device{group: g}, nil
}

// Do runs fn on the device's thread and returns its error; inside Do it runs fn at once. ctx cancels only while fn
// waits for its turn. A panic comes back as *PanicError. After a lost device, Do
// refuses at once with the error that lost it.
func (d *Device) Do(ctx context.Context, fn func(c *Context) error) error {
	return d.group.Do(ctx, func(cs []*Context) error { return fn(cs[0]) })
}

// Lost returns the error that lost the device, or nil.
func (d *Device) Lost() error { return d.group.Lost() }

// Memory tells what this process has allocated on the GPU. It may be asked from any goroutine.
func (d *Device) Memory() MemoryUse { return d.group.Memory()[0] }

// Close releases the context and ends the thread. Memory still held is the driver's to free.
func (d *Device) Close() error { return d.group.Close() }

// Group is one or more GPUs of one machine driven from one OS thread, so that one
// graph can span them.
type Group struct {
	drv      *Driver
	thread   *thread
	contexts []*Context
	lost     atomic.Pointer[Error]
	closed   atomic.Bool
}

// OpenGroup takes the GPUs with the given ordinals and lets each reach the others'
// memory where the hardware can.
func (d *Driver) OpenGroup(ctx context.Context, ordinals ...int) (*Group, error) {
	if len(ordinals) == 0 {
		return nil, fmt.Errorf("gpu: open group: %w: no ordinals", ErrInvalid)
	}
	g := &Group{drv: d, thread: startThread()}
	err := g.thread.do(ctx, func() error {
		for _, o := range ordinals {
			if err := g.retain(o); err != nil {
				return err
			}
		}
		return g.enablePeers()
	})
	if err != nil {
		_ = g.Close() //nolint:contextcheck // what was opened is closed whatever became of the caller
		return nil, err
	}
	return g, nil
}

func (g *Group) retain(ordinal int) error {
	d := g.drv
	var dev int32
	if err := d.check("cuDeviceGet", d.p.get.Call(uintptr(unsafe.Pointer(&dev)), uintptr(ordinal))); err != nil {
		return err
	}
	var h uintptr
	if err := d.check("cuDevicePrimaryCtxRetain", d.p.ctxRetain.Call(uintptr(unsafe.Pointer(&h)), uintptr(dev))); err != nil {
		return err
	}
	c := &Context{drv: d, group: g, device: dev, handle: h}
	g.contexts = append(g.contexts, c)
	major, err := d.attribute(dev, attrMajor)
	if err != nil {
		return err
	}
	minor, err := d.attribute(dev, attrMinor)
	if err != nil {
		return err
	}
	sms, err := d.attribute(dev, attrSMs)
	if err != nil {
		return err
	}
	c.capability, c.sms = major*10+minor, sms
	return c.use()
}

func (g *Group) enablePeers() error {
	for _, a := range g.contexts {
		for _, b := range g.contexts {
			if a == b {
				continue
			}
			var can int32
			if err := g.drv.check("cuDeviceCanAccessPeer", g.drv.p.canAccessPeer.Call(uintptr(unsafe.Pointer(&can)), uintptr(a.device), uintptr(b.device))); err != nil {
				return err
			}
			if can == 0 {
				continue
			}
			if err := a.use(); err != nil {
				return err
			}
			r := g.drv.p.enablePeer.Call(b.handle, 0)
			if Code(int32(r)) == codePeerEnabled {
				continue
			}
			if err := a.check("cuCtxEnablePeerAccess", r); err != nil {
				return err
			}
		}
	}
	return nil
}

// Do runs fn on the group's thread with one Context per GPU, in the order they were opened.
func (g *Group) Do(ctx context.Context, fn func(cs []*Context) error) error {
	return g.thread.do(ctx, func() error {
		if e := g.lost.Load(); e != nil {
			return e
		}
		return fn(g.contexts)
	})
}

// Lost returns the error that lost a device of the group, or nil.
func (g *Group) Lost() error {
	if e := g.lost.Load(); e != nil {
		return e
	}
	return nil
}

// Memory tells what this process has allocated on each GPU, in the order they were opened. It may be asked from any goroutine.
func (g *Group) Memory() []MemoryUse {
	all := make([]MemoryUse, len(g.contexts))
	for i, c := range g.contexts {
		all[i] = c.memory.read()
	}
	return all
}

// Size is the number of GPUs in the group.
func (g *Group) Size() int { return len(g.contexts) }

// Close releases the contexts and ends the thread. A second Close does nothing.
func (g *Group) Close() error {
	if g.closed.Swap(true) {
		return nil
	}
	err := g.thread.do(context.Background(), func() error {
		var first error
		for _, c := range g.contexts {
			if e := c.release(); e != nil && first == nil && g.lost.Load() == nil {
				first = e
			}
		}
		return first
	})
	g.thread.stop()
	return err
}
