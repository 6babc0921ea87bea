package terrain

import "errors"

// What a caller can have got wrong.
var (
	// ErrConfig means that a world, a flight or a renderer was asked for with values outside their limits.
	ErrConfig = errors.New("terrain: bad configuration")
	// ErrState means that a state to continue from is not one that this package made.
	ErrState = errors.New("terrain: bad state")
)
