package gpu

import (
	"fmt"
	"runtime"
	"unsafe"
)

// CopyIn queues a copy from host to device. From pinned memory the call returns at
// once, and src must stay untouched until the stream has passed it.
func (s *Stream) CopyIn(dst Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	if err := s.ctx.use(); err != nil {
		return err
	}
	err := s.ctx.check("cuMemcpyHtoDAsync", s.ctx.drv.p.copyIn.Call(uintptr(dst), uintptr(unsafe.Pointer(&src[0])), uintptr(len(src)), s.handle))
	runtime.KeepAlive(src)
	return err
}

// CopyOut queues a copy from device to host. Into pinned memory the call returns at
// once, and dst is filled when the stream has passed it.
func (s *Stream) CopyOut(dst []byte, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	if err := s.ctx.use(); err != nil {
		return err
	}
	err := s.ctx.check("cuMemcpyDtoHAsync", s.ctx.drv.p.copyOut.Call(uintptr(unsafe.Pointer(&dst[0])), uintptr(src), uintptr(len(dst)), s.handle))
	runtime.KeepAlive(dst)
	return err
}

// Write copies from host to device and waits for it.
func (s *Stream) Write(dst Ptr, src []byte) error {
	return joinFirst(s.CopyIn(dst, src), s.Synchronize())
}

// Read copies from device to host and waits for it.
func (s *Stream) Read(dst []byte, src Ptr) error {
	return joinFirst(s.CopyOut(dst, src), s.Synchronize())
}

// Copy queues a copy inside one GPU.
func (s *Stream) Copy(dst, src Ptr, bytes int64) error {
	if err := s.ctx.use(); err != nil {
		return err
	}
	return s.ctx.check("cuMemcpyDtoDAsync", s.ctx.drv.p.copyOn.Call(uintptr(dst), uintptr(src), uintptr(bytes), s.handle))
}

// CopyPeer queues a copy of contiguous bytes from this stream's GPU to another's.
func (s *Stream) CopyPeer(dst Ptr, to *Context, src Ptr, bytes int64) error {
	if err := s.ctx.use(); err != nil {
		return err
	}
	return s.ctx.check("cuMemcpyPeerAsync", s.ctx.drv.p.copyPeer.Call(uintptr(dst), to.handle, uintptr(src), s.ctx.handle, uintptr(bytes), s.handle))
}

// Rows describes a copy of equal rows, in bytes, between two pitches. Source and target
// may lie on different GPUs of a group; unlike CopyPeer it can be captured in a graph.
type Rows struct {
	Dst, Src           Ptr
	DstPitch, SrcPitch int64
	Width, Count       int64
}

// memcpy2D is the driver's CUDA_MEMCPY2D.
type memcpy2D struct {
	srcX, srcY           uint64
	srcType, _           uint32
	srcHost              uint64
	srcDevice, srcArray  uint64
	srcPitch             uint64
	dstX, dstY           uint64
	dstType, _           uint32
	dstHost              uint64
	dstDevice, dstArray  uint64
	dstPitch             uint64
	widthInBytes, height uint64
}

// CopyRows queues a strided copy by the copy engine.
func (s *Stream) CopyRows(r Rows) error {
	if r.Width <= 0 || r.Count <= 0 || r.Width > r.DstPitch || r.Width > r.SrcPitch {
		return fmt.Errorf("gpu: copy %d rows of %d bytes: %w", r.Count, r.Width, ErrInvalid)
	}
	if err := s.ctx.use(); err != nil {
		return err
	}
	const unified = 4
	c := &memcpy2D{
		srcType: unified, srcDevice: uint64(r.Src), srcPitch: uint64(r.SrcPitch),
		dstType: unified, dstDevice: uint64(r.Dst), dstPitch: uint64(r.DstPitch),
		widthInBytes: uint64(r.Width), height: uint64(r.Count),
	}
	return s.ctx.check("cuMemcpy2DAsync", s.ctx.drv.p.copy2D.Call(uintptr(unsafe.Pointer(c)), s.handle))
}

// Fill queues the setting of bytes to one value.
func (s *Stream) Fill(dst Ptr, value byte, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	if err := s.ctx.use(); err != nil {
		return err
	}
	return s.ctx.check("cuMemsetD8Async", s.ctx.drv.p.setD8.Call(uintptr(dst), uintptr(value), uintptr(bytes), s.handle))
}
