package webhooks

import "errors"

// The sentinels of the room.
var (
	// ErrAddress says that a text is no address that a webhook may have: its form, or its scheme.
	ErrAddress = errors.New("not an address for webhooks")
	// ErrUnreachable says that a receiver did not answer, or that it is not allowed to be called; it does not say which.
	ErrUnreachable = errors.New("the receiver cannot be reached")
)
