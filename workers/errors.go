package workers

import "errors"

var (
	// ErrNotReady means that no engine is loaded and taking jobs.
	ErrNotReady = errors.New("workers: not ready")
	// errShort means that a pipeline ended with another number of frames than was asked for.
	errShort = errors.New("workers: wrong number of frames")
	// errSpec means that a job's own record cannot be turned into a request.
	errSpec = errors.New("workers: unreadable job")
)
