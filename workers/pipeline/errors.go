package pipeline

import "errors"

// What can go wrong in a run, as everybody above sees it. Adapters translate their model's and device's errors into these.
var (
	// ErrInvalid means that the request breaks the contract; trying again is useless.
	ErrInvalid = errors.New("pipeline: invalid request")
	// ErrOutOfMemory means that the device or the host had not enough memory for this request.
	ErrOutOfMemory = errors.New("pipeline: out of memory")
	// ErrDeviceLost means that the device can do nothing more in this process.
	ErrDeviceLost = errors.New("pipeline: device lost")
	// ErrUnknown means that no pipeline has the name.
	ErrUnknown = errors.New("pipeline: unknown pipeline")
)
