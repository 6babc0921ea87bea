package kernels

import (
	"fmt"
	"slices"

	"telefuser/workers/gpu"
)

// CUDA is the backend of one GPU: it queues kernels on one stream. It must be made and
// used inside Do of the GPU's device or group.
type CUDA struct {
	ctx       *gpu.Context
	stream    *gpu.Stream
	compiler  *gpu.NVRTC // nil where there is none
	modules   map[string]*gpu.Module
	functions map[string]*gpu.Function
	args      *gpu.Args
	owned     []gpu.Ptr
	lt        *cublasLt // nil where there is none
	dnn       *cuDNN    // nil where there is none
	parts     gpu.Ptr   // scratch of attention, on Hopper
	choices   *Choices
	force     string
	plain     bool
	overlaps  bool // kernels that can may begin while the one before ends
}

// CUDAOptions are what a CUDA backend may use beside the driver.
type CUDAOptions struct {
	// NVRTC compiles kernels whose builds are stale or not for this GPU; nil: none.
	NVRTC *gpu.NVRTC
	// CuBLASLt are paths where cuBLASLt may lie. Nil: it is not used.
	CuBLASLt []string
	// CuDNN are paths where cuDNN may lie. Nil: it is not used.
	CuDNN []string
	// Choices remembers which implementation was fastest for a shape; nil: not remembered.
	Choices *Choices
	// Force names an implementation, such as "own 192" or "cublaslt 0", to be used wherever
	// it can be; for tests and measurements.
	Force string
	// Plain runs the kernels for any GPU, from portable code, on this one too.
	Plain bool
}

// NewCUDA makes a backend with a stream of its own.
func NewCUDA(ctx *gpu.Context, o CUDAOptions) (*CUDA, error) {
	s, err := ctx.NewStream()
	if err != nil {
		return nil, fmt.Errorf("kernels: new backend: %w", err)
	}
	c := &CUDA{
		ctx: ctx, stream: s, compiler: o.NVRTC, choices: o.Choices, force: o.Force, plain: o.Plain,
		modules: map[string]*gpu.Module{}, functions: map[string]*gpu.Function{}, args: gpu.NewArgs(),
	}
	if c.choices == nil {
		c.choices = NewChoices()
	}
	// Only where the code that waits is what runs, and on GPUs of their own: captures over several were not tried with it.
	c.overlaps = c.hopper() && ctx.Alone()
	if c.hopper() {
		if c.parts, err = ctx.Alloc(attentionParts(ctx.Multiprocessors())); err != nil {
			return nil, fmt.Errorf("kernels: new backend: %w", err)
		}
	}
	if o.CuBLASLt != nil {
		if c.lt, err = openCublasLt(c, o.CuBLASLt); err != nil {
			return nil, fmt.Errorf("kernels: cuBLASLt: %w", err)
		}
	}
	if o.CuDNN != nil {
		if c.dnn, err = openCuDNN(c, o.CuDNN); err != nil {
			return nil, fmt.Errorf("kernels: cuDNN: %w", err)
		}
	}
	return c, nil
}

// Name is "cuda".
func (c *CUDA) Name() string { return "cuda" }

// Stream is where operations are queued.
func (c *CUDA) Stream() *gpu.Stream { return c.stream }

// New takes device memory that Close gives back.
func (c *CUDA) New(t DType, shape ...int) (Tensor, error) {
	x := Layout(t, shape...)
	p, err := c.ctx.Alloc(int64(max(x.Span(), 1)))
	if err != nil {
		return Tensor{}, fmt.Errorf("kernels: new tensor %v: %w", shape, err)
	}
	c.owned = append(c.owned, p)
	x.Dev = p
	return x, nil
}

// Write copies into a tensor and waits for it.
func (c *CUDA) Write(dst Tensor, src []byte) error {
	if len(src) != dst.Span() {
		return misfit("write", "%d bytes into a span of %d", len(src), dst.Span())
	}
	return c.stream.Write(dst.Dev, src)
}

// Read waits for the operations before it and copies out of a tensor.
func (c *CUDA) Read(dst []byte, src Tensor) error {
	if len(dst) != src.Span() {
		return misfit("read", "%d bytes from a span of %d", len(dst), src.Span())
	}
	return c.stream.Read(dst, src.Dev)
}

// Run queues the operation.
func (c *CUDA) Run(op Op) error {
	if err := op.Check(); err != nil {
		return err
	}
	return op.launch(c)
}

// Zero queues the setting of a tensor's span to zeros, gaps included.
func (c *CUDA) Zero(x Tensor) error { return c.stream.Fill(x.Dev, 0, int64(x.Span())) }

// Free gives the memory of tensors back that New made, once the operations before it are done. Marks that were taken before are void.
func (c *CUDA) Free(xs ...Tensor) error {
	if err := c.stream.Synchronize(); err != nil {
		return err
	}
	var first error
	for _, x := range xs {
		at := slices.Index(c.owned, x.Dev)
		if at < 0 {
			continue
		}
		c.owned = slices.Delete(c.owned, at, at+1)
		if err := c.ctx.Free(x.Dev); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Release gives back the memory that New took since Mark, the argument.
func (c *CUDA) Release(mark int) error {
	if err := c.stream.Synchronize(); err != nil {
		return err
	}
	var first error
	for _, p := range c.owned[mark:] {
		if err := c.ctx.Free(p); err != nil && first == nil {
			first = err
		}
	}
	c.owned = c.owned[:mark]
	return first
}

// Mark is the number of tensors that New has made.
func (c *CUDA) Mark() int { return len(c.owned) }

// Close waits for queued work and gives everything back.
func (c *CUDA) Close() error {
	first := c.Release(0)
	if c.parts != 0 {
		if err := c.ctx.Free(c.parts); first == nil {
			first = err
		}
	}
	if c.lt != nil {
		if err := c.lt.close(c); first == nil {
			first = err
		}
	}
	if c.dnn != nil {
		if err := c.dnn.close(c); first == nil {
			first = err
		}
	}
	for _, m := range c.modules {
		if err := m.Unload(); err != nil && first == nil {
			first = err
		}
	}
	if err := c.stream.Close(); err != nil && first == nil {
		first = err
	}
	return first
}

// function finds a kernel, loading its module at its first use.
func (c *CUDA) function(image, name string) (*gpu.Function, error) {
	if f, ok := c.functions[name]; ok {
		return f, nil
	}
	m, ok := c.modules[image]
	if !ok {
		img, err := LoadImage(image)
		if err != nil {
			return nil, err
		}
		if c.plain {
			img.Cubins = nil
		}
		if m, err = c.ctx.LoadImage(img, c.compiler); err != nil {
			return nil, fmt.Errorf("kernels: %s: %w", image, err)
		}
		c.modules[image] = m
	}
	f, err := m.Function(name)
	if err != nil {
		return nil, fmt.Errorf("kernels: %s: %w", image, err)
	}
	c.functions[name] = f
	return f, nil
}

// launch queues a kernel of an image with the arguments that fill adds.
func (c *CUDA) launch(image, name string, g gpu.Grid, fill func(*gpu.Args)) error {
	f, err := c.function(image, name)
	if err != nil {
		return err
	}
	fill(c.args.Reset())
	if err := c.stream.Launch(f, g, c.args); err != nil {
		return fmt.Errorf("kernels: %w", err)
	}
	return nil
}

// hopper says whether the kernels with wgmma and the bulk copy engine run here.
func (c *CUDA) hopper() bool { return c.ctx.Capability() == capHopper && !c.plain }

// rowThreads is the block size for kernels that give a row to a block and each thread
// vectors of eight elements, per vectors a thread.
func rowThreads(columns, per int) int {
	const warp, threadsMax = 32, 1024
	n := (columns + 8*per - 1) / (8 * per)
	return min((n+warp-1)/warp*warp, threadsMax)
}
