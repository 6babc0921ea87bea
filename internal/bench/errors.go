package bench

import "errors"

// What can go wrong with a run itself. What goes wrong with single requests is in its result.
var (
	// ErrPlan means that the plan makes no sense.
	ErrPlan = errors.New("bench: invalid plan")
	// ErrTarget means that the server cannot be loaded: its address is not http://, or it did not do what the run stands on.
	ErrTarget = errors.New("bench: target not usable")
	// ErrNoProcess means that the facts of a process cannot be read: it is gone, or this system has no /proc.
	ErrNoProcess = errors.New("bench: process not readable")
)
