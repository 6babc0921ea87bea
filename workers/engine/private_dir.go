package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// PrivateDir is a folder that only this user reads and that belongs to living processes: when all of them are dead, whatever killed
// them, SweepPrivateDirs removes it.
type PrivateDir struct {
	Path string
	lock *os.File
}

const (
	privateLockName = ".lock"
	// privateDirTries is how often a folder is made anew because a sweep took it for a dead one between its making and its locking.
	privateDirTries = 3
	// privateUnlockedAge is how old a folder without a lock must be before it counts as dead.
	privateUnlockedAge = time.Minute
)

// NewPrivateDir makes a folder in parent, which is made as well if it is missing. The name begins with prefix.
func NewPrivateDir(parent, prefix string) (*PrivateDir, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("engine: private folder: %w", err)
	}
	var last error
	for range privateDirTries {
		path, err := os.MkdirTemp(parent, prefix)
		if err != nil {
			return nil, fmt.Errorf("engine: private folder: %w", err)
		}
		lock, err := lockFile(filepath.Join(path, privateLockName))
		if err == nil {
			return &PrivateDir{Path: path, lock: lock}, nil
		}
		last = err
	}
	return nil, last
}

// Remove deletes the folder and all in it.
func (d *PrivateDir) Remove() error {
	return errors.Join(os.RemoveAll(d.Path), d.lock.Close())
}

// SweepPrivateDirs removes the folders of dead processes and answers how many.
func SweepPrivateDirs(parent, prefix string) (int, error) {
	paths, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return 0, fmt.Errorf("engine: sweep: %w", err)
	}
	swept := 0
	var errs []error
	for _, path := range paths {
		removed, err := sweepPrivateDir(path)
		if err != nil {
			errs = append(errs, err)
		}
		if removed {
			swept++
		}
	}
	return swept, errors.Join(errs...)
}

func sweepPrivateDir(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false, nil //nolint:nilerr // it is gone, or none of ours
	}
	lockPath := filepath.Join(path, privateLockName)
	if _, err := os.Stat(lockPath); err != nil {
		if time.Since(info.ModTime()) < privateUnlockedAge {
			return false, nil
		}
		return true, os.RemoveAll(path)
	}
	lock, err := lockFile(lockPath)
	if errors.Is(err, errLocked) || errors.Is(err, fs.ErrPermission) {
		return false, nil // somebody lives there, or it is another user's
	}
	if err != nil {
		return false, err
	}
	return true, errors.Join(os.RemoveAll(path), lock.Close())
}
