package engine

import (
	"errors"
	"fmt"

	"telefuser/workers/pipeline"
)

// Class says what kind of failure ended a call, a session or a process. The values travel on the wire.
type Class string

// The classes.
const (
	ClassInvalid     Class = "invalid"
	ClassOutOfMemory Class = "out_of_memory"
	ClassDeviceLost  Class = "device_lost"
	ClassStalled     Class = "stalled"
	ClassCrashed     Class = "crashed"
	ClassInternal    Class = "internal"
	// ClassBusy means that the engine holds as many sessions as its contract allows.
	ClassBusy Class = "busy"
	// ClassClosed means that the supervisor was told to end.
	ClassClosed Class = "closed"
)

// The failures as callers tell them apart with errors.Is. The first three are the pipeline's own, kept across the process border.
var (
	ErrInvalid     = pipeline.ErrInvalid
	ErrOutOfMemory = pipeline.ErrOutOfMemory
	ErrDeviceLost  = pipeline.ErrDeviceLost
	// ErrStalled means that the engine made no progress, or gave no sign of life, for too long and was killed.
	ErrStalled = errors.New("engine: stalled")
	// ErrCrashed means that the process ended by itself in the middle of something.
	ErrCrashed = errors.New("engine: crashed")
	// ErrInternal means that the pipeline failed for a reason of its own and lives on.
	ErrInternal = errors.New("engine: internal error")
	// ErrBusy means that all sessions of the engine are taken.
	ErrBusy = errors.New("engine: no free session")
	// ErrClosed means that the supervisor has ended or is ending.
	ErrClosed = errors.New("engine: closed")
	// ErrDeviceTaken means that another process owns the device.
	ErrDeviceTaken = errors.New("engine: device is taken")
)

// sentinels gives each class the error that stands for it.
var sentinels = map[Class]error{
	ClassInvalid:     ErrInvalid,
	ClassOutOfMemory: ErrOutOfMemory,
	ClassDeviceLost:  ErrDeviceLost,
	ClassStalled:     ErrStalled,
	ClassCrashed:     ErrCrashed,
	ClassInternal:    ErrInternal,
	ClassBusy:        ErrBusy,
	ClassClosed:      ErrClosed,
}

// Error is a failure of an engine. It unwraps to the sentinel of its class.
type Error struct {
	Class Class
	// Message is for operators. It never quotes what a pipeline says of a request, which may hold its prompt; it may be empty.
	Message string
}

// Error names the class and the message.
func (e *Error) Error() string {
	if e.Message == "" {
		return "engine: " + string(e.Class)
	}
	return fmt.Sprintf("engine: %s: %s", e.Class, e.Message)
}

// Unwrap gives the class's sentinel.
func (e *Error) Unwrap() error { return sentinels[e.Class] }

// classOf sorts a pipeline's error into a class.
func classOf(err error) Class {
	var own *Error
	switch {
	case errors.As(err, &own):
		return own.Class
	case errors.Is(err, pipeline.ErrInvalid), errors.Is(err, pipeline.ErrUnknown):
		return ClassInvalid
	case errors.Is(err, pipeline.ErrOutOfMemory):
		return ClassOutOfMemory
	case errors.Is(err, pipeline.ErrDeviceLost):
		return ClassDeviceLost
	}
	return ClassInternal
}

// The exit codes of an engine process, one for each class that can end it.
const (
	ExitOK          = 0
	ExitInternal    = 70
	ExitInvalid     = 71
	ExitOutOfMemory = 72
	ExitDeviceLost  = 73
	ExitStalled     = 74
	// ExitOrphaned is used when the supervisor is gone.
	ExitOrphaned = 75
)

// ExitCode is what an engine process ends with after Serve answered err.
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	switch classOf(err) {
	case ClassInvalid:
		return ExitInvalid
	case ClassOutOfMemory:
		return ExitOutOfMemory
	case ClassDeviceLost:
		return ExitDeviceLost
	case ClassStalled:
		return ExitStalled
	default:
		return ExitInternal
	}
}

// exitClass reads a process's exit code; every code that is not ours is a crash.
func exitClass(code int) Class {
	switch code {
	case ExitInvalid:
		return ClassInvalid
	case ExitOutOfMemory:
		return ClassOutOfMemory
	case ExitDeviceLost:
		return ClassDeviceLost
	case ExitStalled:
		return ClassStalled
	}
	return ClassCrashed
}
