package kernels

// Backend runs operations on memory of its own.
type Backend interface {
	// Name is "reference" or "cuda".
	Name() string
	// New takes memory for a contiguous tensor; contents are undefined.
	New(t DType, shape ...int) (Tensor, error)
	// Write fills the bytes of a tensor's span, gaps included, and Read fetches them.
	Write(dst Tensor, src []byte) error
	Read(dst []byte, src Tensor) error
	// Run checks an operation and does or queues it. Operations of one backend happen in order.
	Run(op Op) error
}

// Op is one operation over tensors of one backend.
type Op interface {
	// Check returns an error that wraps ErrShape if the tensors do not fit.
	Check() error
	reference()
	launch(c *CUDA) error
}

// Reference is the backend in plain Go. The zero value is ready.
type Reference struct{}

// Name is "reference".
func (Reference) Name() string { return "reference" }

// New takes host memory.
func (Reference) New(t DType, shape ...int) (Tensor, error) {
	x := Layout(t, shape...)
	x.Host = make([]byte, x.Span())
	return x, nil
}

// Write copies into a tensor.
func (Reference) Write(dst Tensor, src []byte) error {
	if len(src) != dst.Span() {
		return misfit("write", "%d bytes into a span of %d", len(src), dst.Span())
	}
	copy(dst.Host, src)
	return nil
}

// Read copies out of a tensor.
func (Reference) Read(dst []byte, src Tensor) error {
	if len(dst) != src.Span() {
		return misfit("read", "%d bytes from a span of %d", len(dst), src.Span())
	}
	copy(dst, src.Host)
	return nil
}

// Run does the operation before it returns.
func (Reference) Run(op Op) error {
	if err := op.Check(); err != nil {
		return err
	}
	op.reference()
	return nil
}
