//go:build !linux

package engine

import (
	"errors"
	"os"
)

// newFrameMemory makes none: frames are sent.
func newFrameMemory(int64) (*frameMemory, *os.File, error) { return nil, nil, nil }

func mapFrames(int, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmapFrames([]byte) error { return nil }
