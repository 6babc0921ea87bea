package wan

import "telefuser/workers/kernels"

// ledger is a backend that knows what was taken of it, so that a layout can be given back whole.
type ledger struct {
	kernels.Backend
	taken []kernels.Tensor
}

// New takes memory and notes it.
func (l *ledger) New(t kernels.DType, shape ...int) (kernels.Tensor, error) {
	x, err := l.Backend.New(t, shape...)
	if err == nil {
		l.taken = append(l.taken, x)
	}
	return x, err
}

// keep makes what was taken so far the backend's for good.
func (l *ledger) keep() { l.taken = nil }

// giveBack frees what was taken since keep.
func (l *ledger) giveBack() error {
	err := kernels.Free(l.Backend, l.taken...)
	l.taken = nil
	return err
}

// Section runs many operations where each costs least.
func (l *ledger) Section(fn func() error) error { return kernels.Section(l.Backend, fn) }

// Zero sets a tensor to zeros where it lies.
func (l *ledger) Zero(x kernels.Tensor) error { return kernels.Zero(l.Backend, x) }
