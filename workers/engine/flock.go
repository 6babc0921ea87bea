package engine

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// errLocked means that another process holds a lock.
var errLocked = errors.New("engine: lock is held")

// lockFile opens a file and takes its lock without waiting. The lock belongs to the open file: it is held until every process that the
// file was handed down to has closed it or died, so it never needs cleaning up.
func lockFile(path string) (*os.File, error) { return flock(path, syscall.LOCK_EX) }

// shareFile is lockFile for a lock that several may hold, as long as none took it by lockFile.
func shareFile(path string) (*os.File, error) { return flock(path, syscall.LOCK_SH) }

func flock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("engine: lock: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	return nil, errors.Join(fmt.Errorf("engine: lock %s: %w", path, err), file.Close())
}
