package terrain

import (
	"context"
	"errors"
	"fmt"

	"telefuser/workers/gpu"
)

// CUDA is one GPU that draws frames, for any number of renderers; their chunks take turns. It holds the work space that they share,
// which grows to that of the largest picture.
type CUDA struct {
	device *gpu.Device
	acc    accelerator
	// do runs a function where the accelerator may be used, one at a time.
	do   func(ctx context.Context, fn func() error) error
	work workSpace
}

// workSpace is device memory for the frames of one batch and what they are made from.
type workSpace struct {
	bytes                                                gpu.Ptr
	held                                                 int64
	job, tables, baked, edges, sums, mirror, wet, frames gpu.Ptr
}

const (
	// batchFrames is how many frames are drawn at once: those of a chunk.
	batchFrames = 16
	// bakedMax is how many blocks go to the map at once.
	bakedMax = 512
)

// OpenCUDA takes the GPU with the given ordinal of this process's view, checks it with a small kernel and loads the renderer's own. Its
// errors are those of package gpu.
func OpenCUDA(ctx context.Context, ordinal int) (*CUDA, error) {
	image, err := LoadImage()
	if err != nil {
		return nil, err
	}
	return openCUDA(ctx, ordinal, image)
}

func openCUDA(ctx context.Context, ordinal int, image *gpu.Image) (*CUDA, error) {
	driver, err := gpu.Open()
	if err != nil {
		return nil, fmt.Errorf("terrain: open device: %w", err)
	}
	device, err := driver.OpenDevice(ctx, ordinal)
	if err != nil {
		return nil, fmt.Errorf("terrain: open device %d: %w", ordinal, err)
	}
	c := &CUDA{device: device}
	err = device.Do(ctx, func(g *gpu.Context) error {
		if err := g.Probe(ctx); err != nil {
			return err
		}
		acc, err := newGPUAccelerator(g, image)
		if err != nil {
			return err
		}
		c.acc = acc
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("terrain: prepare device %d: %w", ordinal, err), device.Close()) //nolint:contextcheck // it is closed whatever has become of ctx
	}
	c.do = func(ctx context.Context, fn func() error) error {
		return device.Do(ctx, func(*gpu.Context) error { return fn() })
	}
	return c, nil
}

// Close gives the device back. Renderers must be closed before.
func (c *CUDA) Close() error {
	err := c.do(context.Background(), func() error { return firstError(c.release(), c.acc.close()) })
	if c.device.Lost() != nil {
		err = nil // the end of the process frees what a lost device holds
	}
	if err := errors.Join(err, c.device.Close()); err != nil {
		return fmt.Errorf("terrain: close device: %w", err)
	}
	return nil
}

// reserve lays the work space out for pictures of a view.
func (c *CUDA) reserve(v *view, l tableLayout) error {
	pixels := int64(v.width) * int64(v.height) * batchFrames
	w := &c.work
	parts := []struct {
		at    *gpu.Ptr
		bytes int64
	}{
		{&w.job, jobBytes}, {&w.tables, int64(l.stride) * batchFrames}, {&w.baked, bakedMax * bakedBytes},
		{&w.edges, int64(v.width) * batchFrames * 4}, {&w.sums, pixels * 8}, {&w.mirror, pixels * 8}, {&w.wet, pixels * 4}, {&w.frames, pixels * 3 / 2},
	}
	const align = 256
	total := int64(0)
	for _, p := range parts {
		total += (p.bytes + align - 1) / align * align
	}
	if total > w.held {
		if err := c.release(); err != nil {
			return err
		}
		base, err := c.acc.take(total)
		if err != nil {
			return err
		}
		w.bytes, w.held = base, total
	}
	at := w.bytes
	for _, p := range parts {
		*p.at = at
		at += gpu.Ptr((p.bytes + align - 1) / align * align)
	}
	return nil
}

// release gives the work space back.
func (c *CUDA) release() error {
	if c.work.held == 0 {
		return nil
	}
	err := firstError(c.acc.settle(), c.acc.give(c.work.bytes))
	c.work = workSpace{}
	return err
}
