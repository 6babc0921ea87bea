package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// fileError translates an error of the file system; its own type does not leave the room.
func fileError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotFound
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %v", ErrFull, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %v", ErrDenied, err)
	default:
		return fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
}
