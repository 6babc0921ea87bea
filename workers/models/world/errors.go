package world

import "errors"

// ErrConfig means that steps, a script, a path or a stored camera cannot be flown. Nothing was changed.
var ErrConfig = errors.New("world: bad camera")
