package outbound

import "errors"

// The sentinels of the room.
var (
	// ErrURL says that a text is no address that may be called: its form, its scheme or its port.
	ErrURL = errors.New("not an acceptable URL")
	// ErrUnreachable says that nothing was got from the address: blocked, unknown, silent, too slow, or speaking something else. It does not say which.
	ErrUnreachable = errors.New("the address cannot be reached")
	// ErrStatus says that the answer of a fetch was not a 200.
	ErrStatus = errors.New("the answer is not a success")
	// ErrType says that the answer of a fetch is declared to be no picture.
	ErrType = errors.New("the answer is not a picture")
	// ErrTooLarge says that the answer of a fetch has more bytes than the caller takes.
	ErrTooLarge = errors.New("the answer is too large")
	// errBlocked is for the log alone: callers see ErrUnreachable.
	errBlocked = errors.New("blocked")
)
