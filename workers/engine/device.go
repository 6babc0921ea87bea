package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// DeviceLock is the right to use a device among the processes that share a runtime directory: alone, or beside others that share it.
type DeviceLock struct {
	file *os.File
}

var devicePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// AcquireDevice takes the device of that id. It fails with ErrDeviceTaken while another process, or an engine that outlived its
// supervisor, owns it, unless both share it.
func AcquireDevice(dir, id string, share bool) (*DeviceLock, error) {
	if !devicePattern.MatchString(id) {
		return nil, fmt.Errorf("engine: device id %q: want letters, digits, dots and dashes", id)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("engine: runtime directory: %w", err)
	}
	take := lockFile
	if share {
		take = shareFile
	}
	file, err := take(filepath.Join(dir, "device-"+id+".lock"))
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("%w: %s", ErrDeviceTaken, id)
	}
	if err != nil {
		return nil, err
	}
	return &DeviceLock{file: file}, nil
}

// Release gives the device up, as far as this process is concerned.
func (l *DeviceLock) Release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("engine: release device: %w", err)
	}
	return nil
}
