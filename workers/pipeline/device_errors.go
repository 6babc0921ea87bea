package pipeline

import (
	"errors"
	"fmt"

	"telefuser/workers/gpu"
)

// deviceError translates a device's errors into the ones that everybody above knows. What is no fault of the device or its memory stays
// what it is.
func deviceError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gpu.ErrOutOfMemory):
		return fmt.Errorf("%w: %w", ErrOutOfMemory, err)
	case errors.Is(err, gpu.ErrDeviceLost), errors.Is(err, gpu.ErrNoDevice), errors.Is(err, gpu.ErrClosed):
		return fmt.Errorf("%w: %w", ErrDeviceLost, err)
	}
	return err
}

// deviceLoadError is deviceError at the opening of a device: without a driver, or with a number that no device has, trying again is
// useless. A driver that shows no GPU at all may show it again.
func deviceLoadError(err error) error {
	if errors.Is(err, gpu.ErrNoDriver) || errors.Is(err, gpu.ErrNoImage) || errors.Is(err, gpu.ErrInvalid) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return deviceError(err)
}
