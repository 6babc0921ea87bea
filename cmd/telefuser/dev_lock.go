package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// errDataDirInUse says that another process keeps its data there.
var errDataDirInUse = errors.New("the data directory is in use by another telefuser dev; stop that one or give --data-dir")

// lockDataDir makes dir this process's alone until unlock or the process's end: two Redis servers on one directory would spoil its files.
func lockDataDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errDataDirInUse
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing gives the lock back
}
