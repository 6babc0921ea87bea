package streaming

import (
	"context"
	"errors"
	"fmt"
)

// The sentinels of the room. Every error that leaves it can be told apart with errors.Is; the text of Redis is for logs alone.
var (
	// ErrNotFound says that there is no such session for this tenant: never made, its retention over, or another tenant's.
	ErrNotFound = errors.New("not found")
	// ErrExists says that the id is taken.
	ErrExists = errors.New("the session exists")
	// ErrNoIdleWorker says that no slot is free and there is no queue.
	ErrNoIdleWorker = errors.New("no worker is idle")
	// ErrQueueFull says that no slot is free and the queue has its maximum.
	ErrQueueFull = errors.New("the queue is full")
	// ErrNoCapacity says that no worker serves the pipeline, and none has lately.
	ErrNoCapacity = errors.New("no worker serves the pipeline")
	// ErrTenantLimit says that the tenant has its maximum of sessions.
	ErrTenantLimit = errors.New("the tenant has its maximum of sessions")
	// ErrTerminal says that the session has ended.
	ErrTerminal = errors.New("the session has ended")
	// ErrStale says that the epoch no longer owns the session, so nothing was written.
	ErrStale = errors.New("the epoch no longer owns the session")
	// ErrUnavailable says that Redis did not answer in time or refused; whether a write happened is unknown.
	ErrUnavailable = errors.New("redis is not available")
	// ErrInvalid says that an argument breaks a documented rule.
	ErrInvalid = errors.New("invalid argument")
)

// What the plugged-in sources say; they wrap these.
var (
	// ErrEngineLost says that the engine's process died under the session.
	ErrEngineLost = errors.New("the engine was lost")
	// ErrOutOfMemory says that the model had too little memory; it comes with ErrEngineLost where the engine died of it.
	ErrOutOfMemory = errors.New("out of memory")
	// ErrBadControl says that the source cannot obey this control. The session goes on.
	ErrBadControl = errors.New("the control cannot be obeyed")
)

// unavailable translates an error of Redis or the network at the wall of this room.
func unavailable(op string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("streaming: %s: %w", op, context.Canceled)
	}
	return fmt.Errorf("streaming: %s: %w: %v", op, ErrUnavailable, err)
}
