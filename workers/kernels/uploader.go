package kernels

import (
	"fmt"
	"sync"

	"telefuser/workers/gpu"
)

// Uploader is a CUDA backend whose writes go through pinned buffers: while the copy engine reads
// one, the host fills the next, with several threads. A write may return before its bytes have
// arrived; operations that are queued after it see them.
type Uploader struct {
	*CUDA
	ring  *gpu.PinnedRing
	bytes int
}

// NewUploader takes so many pinned buffers of so many bytes, at least two of them to gain anything.
func (c *CUDA) NewUploader(buffers, bytes int) (*Uploader, error) {
	if bytes < 1 {
		return nil, misfit("upload", "buffers of %d bytes", bytes)
	}
	ring, err := c.ctx.NewPinnedRing(buffers, bytes)
	if err != nil {
		return nil, fmt.Errorf("kernels: new uploader: %w", err)
	}
	return &Uploader{CUDA: c, ring: ring, bytes: bytes}, nil
}

// Write copies into a tensor, buffer by buffer. src is free when it returns.
func (u *Uploader) Write(dst Tensor, src []byte) error {
	if len(src) != dst.Span() {
		return misfit("write", "%d bytes into a span of %d", len(src), dst.Span())
	}
	for at := 0; at < len(src); at += u.bytes {
		part := src[at:min(at+u.bytes, len(src))]
		buffer, done, err := u.ring.Acquire()
		if err != nil {
			return fmt.Errorf("kernels: upload: %w", err)
		}
		fill(buffer[:len(part)], part)
		if err := u.stream.CopyIn(dst.Dev+gpu.Ptr(at), buffer[:len(part)]); err != nil {
			return fmt.Errorf("kernels: upload: %w", err)
		}
		if err := done(u.stream); err != nil {
			return fmt.Errorf("kernels: upload: %w", err)
		}
	}
	return nil
}

// Close waits for copies under way and gives the buffers back. The backend stays.
func (u *Uploader) Close() error { return u.ring.Free() }

// fill copies with several threads: one alone reads from the page cache slower than a GPU takes it.
func fill(dst, src []byte) {
	const threads, least = 8, 1 << 20 // bytes that are worth a thread
	each := max((len(src)+threads-1)/threads, least)
	var wg sync.WaitGroup
	for at := each; at < len(src); at += each {
		wg.Go(func() { copy(dst[at:min(at+each, len(src))], src[at:]) })
	}
	copy(dst[:min(each, len(src))], src)
	wg.Wait()
}
