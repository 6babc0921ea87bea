package storage

import (
	"errors"
	"fmt"
)

// What can go wrong. Every error of the room wraps one of these, the error of the caller's reader or the cause of the caller's context.
var (
	// ErrNotFound means that no object has the key.
	ErrNotFound = errors.New("object not found")
	// ErrExists means that the key is taken; the object under it was not touched.
	ErrExists = errors.New("key is taken")
	// ErrRange means that the wanted range does not begin inside the object.
	ErrRange = errors.New("range not satisfiable")
	// ErrUnavailable means that the store could not be reached or did not do its work, after all retries. Trying later may help.
	ErrUnavailable = errors.New("store unavailable")
	// ErrDenied means that the store refused our credentials. It is an ErrUnavailable that only an operator can mend.
	ErrDenied = fmt.Errorf("%w: access denied", ErrUnavailable)
	// ErrFull means that there is no space or quota left.
	ErrFull = errors.New("store full")
	// ErrCorrupt means that the bytes are not those that were announced or sent.
	ErrCorrupt = errors.New("digest or size mismatch")
	// ErrUnsupported means that the driver cannot do this at all.
	ErrUnsupported = errors.New("not supported by this driver")
	// ErrKey means that the key breaks the rules of ValidateKey.
	ErrKey = errors.New("invalid key")
)
