package kernels

import (
	"errors"
	"fmt"
)

var (
	// ErrShape says that an operation's tensors do not fit together or its kernel.
	ErrShape = errors.New("kernels: shapes do not fit")
	// ErrUnsupported says that this backend or GPU has no kernel for the operation.
	ErrUnsupported = errors.New("kernels: not supported here")
)

// misfit builds an ErrShape.
func misfit(op, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrShape, op, fmt.Sprintf(format, args...))
}
