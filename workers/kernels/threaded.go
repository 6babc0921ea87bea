package kernels

import (
	"context"
	"errors"
	"fmt"
	"time"

	"telefuser/workers/gpu"
)

// Threaded is a CUDA backend with an OS thread of its own: any goroutine may call it at any time, and each call is made on that thread.
// Several of one GPU work at once, each in its own stream. Writes go through pinned memory and may return before their bytes have arrived;
// operations that are queued after them see them. While a Read waits, the thread is free.
type Threaded struct {
	device *gpu.Device
	cuda   *CUDA
	upload *Uploader
}

// The pinned memory of a Threaded: buffers that are filled and read in turn.
const (
	threadedBuffers     = 4
	threadedBufferBytes = 8 << 20
)

// OpenThreaded takes the GPU with the given ordinal. Its errors are those of package gpu.
func OpenThreaded(ctx context.Context, d *gpu.Driver, ordinal int, o CUDAOptions) (*Threaded, error) {
	device, err := d.OpenDevice(ctx, ordinal)
	if err != nil {
		return nil, fmt.Errorf("kernels: open device %d: %w", ordinal, err)
	}
	t := &Threaded{device: device}
	err = device.Do(ctx, func(c *gpu.Context) error {
		if t.cuda, err = NewCUDA(c, o); err != nil {
			return err
		}
		t.upload, err = t.cuda.NewUploader(threadedBuffers, threadedBufferBytes)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, t.Close()) //nolint:contextcheck // what was opened is closed whatever has become of ctx
	}
	return t, nil
}

// do makes calls on the thread.
func (t *Threaded) do(fn func() error) error {
	return t.device.Do(context.Background(), func(*gpu.Context) error { return fn() })
}

// Section runs fn on the thread, where calls of the backend cost nothing extra. fn should not wait for long: nobody else gets in.
func (t *Threaded) Section(fn func() error) error { return t.do(fn) }

// Name is "cuda".
func (t *Threaded) Name() string { return t.cuda.Name() }

// New takes device memory that Free or Close gives back.
func (t *Threaded) New(d DType, shape ...int) (x Tensor, err error) {
	err = t.do(func() error {
		x, err = t.cuda.New(d, shape...)
		return err
	})
	return x, err
}

// Free gives the memory of tensors back, once the operations before it are done.
func (t *Threaded) Free(xs ...Tensor) error { return t.do(func() error { return t.cuda.Free(xs...) }) }

// Mark is how many tensors New has made that were not given back.
func (t *Threaded) Mark() (n int) {
	_ = t.do(func() error { // a closed backend holds none
		n = t.cuda.Mark()
		return nil
	})
	return n
}

// Release gives back the memory that New took since Mark, the argument.
func (t *Threaded) Release(mark int) error { return t.do(func() error { return t.cuda.Release(mark) }) }

// Zero queues the setting of a tensor to zeros.
func (t *Threaded) Zero(x Tensor) error { return t.do(func() error { return t.cuda.Zero(x) }) }

// Write copies into a tensor. src is free when it returns.
func (t *Threaded) Write(dst Tensor, src []byte) error {
	return t.do(func() error { return t.upload.Write(dst, src) })
}

// Read waits for the operations before it and copies out of a tensor.
func (t *Threaded) Read(dst []byte, src Tensor) error {
	const first, most = 20 * time.Microsecond, 500 * time.Microsecond
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := first; ; pause = min(2*pause, most) {
		idle := false
		err := t.do(func() (err error) {
			if idle, err = t.cuda.stream.Idle(); err == nil && idle {
				err = t.cuda.Read(dst, src)
			}
			return err
		})
		if idle || err != nil {
			return err
		}
		timer.Reset(pause)
		<-timer.C
	}
}

// Run queues the operation.
func (t *Threaded) Run(op Op) error { return t.do(func() error { return t.cuda.Run(op) }) }

// Probe has the GPU run a small kernel and checks its numbers.
func (t *Threaded) Probe(ctx context.Context) error {
	return t.device.Do(ctx, func(c *gpu.Context) error { return c.Probe(ctx) })
}

// Room is how much of the GPU's memory is free and how much there is, in bytes.
func (t *Threaded) Room() (free, total uint64, err error) {
	err = t.device.Do(context.Background(), func(c *gpu.Context) error {
		free, total, err = c.MemoryInfo()
		return err
	})
	return free, total, err
}

// Memory tells what this backend has allocated on the GPU. It may be asked from any goroutine.
func (t *Threaded) Memory() gpu.MemoryUse { return t.device.Memory() }

// Close waits for queued work and gives everything back. What a lost device holds is freed with the process.
func (t *Threaded) Close() error {
	err := t.do(func() error {
		var all []error
		if t.upload != nil {
			all = append(all, t.upload.Close())
		}
		if t.cuda != nil {
			all = append(all, t.cuda.Close())
		}
		return errors.Join(all...)
	})
	if t.device.Lost() != nil {
		err = nil
	}
	if err := errors.Join(err, t.device.Close()); err != nil {
		return fmt.Errorf("kernels: close device: %w", err)
	}
	return nil
}
