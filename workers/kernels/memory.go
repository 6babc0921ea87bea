package kernels

// Zero sets a tensor's span to zeros, gaps included: where it lies, if the backend can.
func Zero(b Backend, x Tensor) error {
	if z, ok := b.(interface{ Zero(x Tensor) error }); ok {
		return z.Zero(x)
	}
	return b.Write(x, make([]byte, x.Span()))
}

// Free gives the memory of tensors back that b.New made; absent ones are passed over. Memory of the host goes by itself.
func Free(b Backend, xs ...Tensor) error {
	f, ok := b.(interface{ Free(xs ...Tensor) error })
	if !ok {
		return nil
	}
	var held []Tensor
	for _, x := range xs {
		if !x.Absent() {
			held = append(held, x)
		}
	}
	if len(held) == 0 {
		return nil
	}
	return f.Free(held...)
}

// Section runs fn, in which b is called many times, where a call costs least: on the GPU's own thread, if b has one.
func Section(b Backend, fn func() error) error {
	if s, ok := b.(interface{ Section(fn func() error) error }); ok {
		return s.Section(fn)
	}
	return fn()
}
