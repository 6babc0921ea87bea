package kernels

import (
	"runtime"

	"telefuser/workers/kernels/simd"
)

// CPU is the fast backend on the host: vectorised loops (package simd) on all processors. Sums
// are of float32; the bits do not depend on the number of workers, but on the level. What has no
// fast path is done by the reference. One goroutine at a time may use it.
type CPU struct {
	level   simd.Level
	workers int
	eager   bool
	scratch []scratch // one a worker
	shared  scratch   // written before workers read it
}

// CPUOptions narrow what a CPU backend uses.
type CPUOptions struct {
	// Workers is how many goroutines do an operation; 0: GOMAXPROCS.
	Workers int
	// Level holds the backend to a lower set of instructions than this processor's; nil: the best.
	Level *simd.Level
	// Eager hands out the smallest work too, which is slower and shows more; for tests.
	Eager bool
}

// NewCPU makes a backend. It holds no resource but memory.
func NewCPU(o CPUOptions) *CPU {
	c := &CPU{level: simd.Best(), workers: o.Workers, eager: o.Eager}
	if o.Level != nil {
		c.level = min(*o.Level, c.level)
	}
	if c.workers < 1 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	c.scratch = make([]scratch, c.workers)
	return c
}

// Name is "cpu".
func (c *CPU) Name() string { return "cpu" }

// Level is the set of instructions in use.
func (c *CPU) Level() simd.Level { return c.level }

// New takes host memory that starts at a cache line.
func (c *CPU) New(t DType, shape ...int) (Tensor, error) {
	x := Layout(t, shape...)
	x.Host = aligned(x.Span())
	return x, nil
}

// Write copies into a tensor.
func (c *CPU) Write(dst Tensor, src []byte) error { return Reference{}.Write(dst, src) }

// Read copies out of a tensor.
func (c *CPU) Read(dst []byte, src Tensor) error { return Reference{}.Read(dst, src) }

// vectored is an operation with a fast path; fast says false if these tensors have none.
type vectored interface{ fast(c *CPU) bool }

// Run does the operation before it returns.
func (c *CPU) Run(op Op) error {
	if err := op.Check(); err != nil {
		return err
	}
	if v, ok := op.(vectored); ok && v.fast(c) {
		return nil
	}
	op.reference()
	return nil
}
