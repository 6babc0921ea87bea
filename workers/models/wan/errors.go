package wan

import "errors"

var (
	// ErrConfig means that dimensions do not make a network, or that weights do not fit them.
	ErrConfig = errors.New("wan: bad configuration")
	// ErrInput means that a call's inputs do not fit the network. Nothing was changed.
	ErrInput = errors.New("wan: bad input")
)
