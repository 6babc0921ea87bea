package gpu

import (
	"fmt"
	"unsafe"
)

// Ptr is an address in a GPU's memory.
type Ptr uint64

// Alloc takes bytes of the GPU's memory, aligned to at least 256 bytes. Contents are undefined.
func (c *Context) Alloc(bytes int64) (Ptr, error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("gpu: alloc %d bytes: %w", bytes, ErrInvalid)
	}
	if err := c.use(); err != nil {
		return 0, err
	}
	var p Ptr
	if err := c.check("cuMemAlloc", c.drv.p.memAlloc.Call(uintptr(unsafe.Pointer(&p)), uintptr(bytes))); err != nil {
		return 0, err
	}
	c.memory.took(p, bytes)
	return p, nil
}

// Free gives memory back. Work that still uses it must have finished.
func (c *Context) Free(p Ptr) error {
	if err := c.use(); err != nil {
		return err
	}
	if err := c.check("cuMemFree", c.drv.p.memFree.Call(uintptr(p))); err != nil {
		return err
	}
	c.memory.gave(p)
	return nil
}

// Pinned is host memory that the copy engines read and write directly. Taking it is
// slow (about half a second for a GiB), so it is taken once and used again.
type Pinned struct {
	Bytes []byte
	ctx   *Context
	addr  uintptr
}

// AllocPinned takes page-locked host memory.
func (c *Context) AllocPinned(bytes int) (*Pinned, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("gpu: alloc %d pinned bytes: %w", bytes, ErrInvalid)
	}
	if err := c.use(); err != nil {
		return nil, err
	}
	var h unsafe.Pointer // C memory: the collector sees a foreign address and leaves it alone
	if err := c.check("cuMemHostAlloc", c.drv.p.hostAlloc.Call(uintptr(unsafe.Pointer(&h)), uintptr(bytes), 0)); err != nil {
		return nil, err
	}
	return &Pinned{Bytes: unsafe.Slice((*byte)(h), bytes), ctx: c, addr: uintptr(h)}, nil
}

// Free gives the memory back; Bytes must not be touched afterwards.
func (p *Pinned) Free() error {
	if p.addr == 0 {
		return nil
	}
	addr := p.addr
	p.addr, p.Bytes = 0, nil
	if err := p.ctx.use(); err != nil {
		return err
	}
	return p.ctx.check("cuMemFreeHost", p.ctx.drv.p.hostFree.Call(addr))
}
