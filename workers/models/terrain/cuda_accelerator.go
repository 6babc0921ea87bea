package terrain

import (
	"sync"
	"time"

	"telefuser/workers/gpu"
	"telefuser/workers/media"
)

// kernel is one of the kernels in terrain.cu.
type kernel int

const (
	kernelPlace kernel = iota
	kernelMarch
	kernelSky
	kernelPlanes
	kernelFault
	kernelsCount
)

// kernelNames are in the order of the constants.
func kernelNames() [kernelsCount]string {
	return [kernelsCount]string{"terrain_place", "terrain_march", "terrain_sky", "terrain_planes", "terrain_fault"}
}

// accelerator is where kernels run. Its work is done in the order in which it is queued; fetch and settle wait for it.
type accelerator interface {
	// take and give are device memory.
	take(bytes int64) (gpu.Ptr, error)
	give(p gpu.Ptr) error
	// send copies to the device; src may be changed at once.
	send(dst gpu.Ptr, src []byte) error
	clear(dst gpu.Ptr, bytes int64) error
	// launch runs a kernel over a grid of blocks x rows.
	launch(k kernel, blocks, rows, threads int, a, b gpu.Ptr) error
	// begin and end enclose the work that the next fetch tells the time of.
	begin() error
	end() error
	// fetch copies the frames that lie one behind the other at src, and answers the time of the enclosed work.
	fetch(dst []media.Frame, src gpu.Ptr) (time.Duration, error)
	settle() error
	close() error
}

// The ring that copies to the device go through: two pieces on their way and two being filled.
const (
	inSlots     = 4
	inSlotBytes = 1 << 20
)

// gpuAccelerator runs kernels on a GPU. All its methods are called on the device's thread.
type gpuAccelerator struct {
	ctx           *gpu.Context
	stream        *gpu.Stream
	module        *gpu.Module
	functions     [kernelsCount]*gpu.Function
	args          *gpu.Args
	in            *gpu.PinnedRing
	out           []outSlot
	started, done *gpu.Event
}

// outSlot is pinned memory for one frame on its way home, and the mark that it has come.
type outSlot struct {
	buf *gpu.Pinned
	ev  *gpu.Event
}

func newGPUAccelerator(ctx *gpu.Context, image *gpu.Image) (a *gpuAccelerator, err error) {
	a = &gpuAccelerator{ctx: ctx, args: gpu.NewArgs()}
	if a.module, err = ctx.LoadImage(image, nil); err != nil {
		return nil, err
	}
	for k, name := range kernelNames() {
		if a.functions[k], err = a.module.Function(name); err != nil {
			return nil, err
		}
	}
	if a.stream, err = ctx.NewStream(); err != nil {
		return nil, err
	}
	if a.started, err = ctx.NewEvent(); err != nil {
		return nil, err
	}
	if a.done, err = ctx.NewEvent(); err != nil {
		return nil, err
	}
	a.in, err = ctx.NewPinnedRing(inSlots, inSlotBytes)
	return a, err
}

func (a *gpuAccelerator) take(bytes int64) (gpu.Ptr, error) { return a.ctx.Alloc(bytes) }

func (a *gpuAccelerator) give(p gpu.Ptr) error { return a.ctx.Free(p) }

func (a *gpuAccelerator) send(dst gpu.Ptr, src []byte) error {
	for len(src) > 0 {
		buf, done, err := a.in.Acquire()
		if err != nil {
			return err
		}
		n := copy(buf, src)
		if err := a.stream.CopyIn(dst, buf[:n]); err != nil {
			return err
		}
		if err := done(a.stream); err != nil {
			return err
		}
		dst, src = dst+gpu.Ptr(n), src[n:]
	}
	return nil
}

func (a *gpuAccelerator) clear(dst gpu.Ptr, bytes int64) error { return a.stream.Fill(dst, 0, bytes) }

func (a *gpuAccelerator) launch(k kernel, blocks, rows, threads int, x, y gpu.Ptr) error {
	return a.stream.Launch(a.functions[k], gpu.Grid{X: blocks, Y: rows, Threads: threads}, a.args.Reset().Ptr(x).Ptr(y))
}

func (a *gpuAccelerator) begin() error { return a.stream.Record(a.started) }

func (a *gpuAccelerator) end() error { return a.stream.Record(a.done) }

func (a *gpuAccelerator) fetch(dst []media.Frame, src gpu.Ptr) (time.Duration, error) {
	if len(dst) == 0 {
		return 0, nil
	}
	bytes := len(dst[0].Data)
	if err := a.grow(len(dst), bytes); err != nil {
		return 0, err
	}
	for i := range dst {
		slot := &a.out[i]
		if err := a.stream.CopyOut(slot.buf.Bytes[:bytes], src+gpu.Ptr(i*bytes)); err != nil {
			return 0, err
		}
		if err := a.stream.Record(slot.ev); err != nil {
			return 0, err
		}
	}
	// A frame is copied out of the pinned memory while the next ones come.
	var copies sync.WaitGroup
	defer copies.Wait()
	for i, frame := range dst {
		slot := &a.out[i]
		if err := slot.ev.Synchronize(); err != nil {
			return 0, err
		}
		copies.Go(func() { copy(frame.Data, slot.buf.Bytes) })
	}
	return a.done.Since(a.started)
}

// grow makes at least count slots of at least so many bytes; nothing is on its way through them.
func (a *gpuAccelerator) grow(count, bytes int) error {
	if len(a.out) > 0 && len(a.out[0].buf.Bytes) < bytes {
		if err := a.freeSlots(); err != nil {
			return err
		}
	}
	for len(a.out) < count {
		buf, err := a.ctx.AllocPinned(bytes)
		if err != nil {
			return err
		}
		ev, err := a.ctx.NewEvent()
		if err != nil {
			return err
		}
		a.out = append(a.out, outSlot{buf: buf, ev: ev})
	}
	return nil
}

func (a *gpuAccelerator) freeSlots() error {
	if err := a.settle(); err != nil {
		return err
	}
	for _, slot := range a.out {
		if err := firstError(slot.ev.Close(), slot.buf.Free()); err != nil {
			return err
		}
	}
	a.out = nil
	return nil
}

func (a *gpuAccelerator) settle() error { return a.stream.Synchronize() }

func (a *gpuAccelerator) close() error {
	return firstError(a.freeSlots(), a.in.Free(), a.started.Close(), a.done.Close(), a.stream.Close(), a.module.Unload())
}

// firstError is the first that is not nil: later ones follow from it.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
