package gpu

import (
	"errors"
	"fmt"
)

var (
	// ErrNoDriver says that this machine has no usable NVIDIA driver library.
	ErrNoDriver = errors.New("gpu: no NVIDIA driver on this machine")
	// ErrNoDevice says that the driver is there but shows no GPU to this process.
	ErrNoDevice = errors.New("gpu: the NVIDIA driver shows no GPU")
	// ErrNoLibrary says that an optional library (NVRTC, cuBLASLt) was not found.
	ErrNoLibrary = errors.New("gpu: library not found")
	// ErrOutOfMemory is the class of errors that a smaller job, or a freed one, would not get.
	ErrOutOfMemory = errors.New("gpu: out of memory")
	// ErrInvalid is the class of errors that the caller made: wrong sizes, handles or order.
	ErrInvalid = errors.New("gpu: invalid call")
	// ErrDeviceLost is the class of errors after which the context, or the whole card, is gone.
	ErrDeviceLost = errors.New("gpu: device lost")
	// ErrNotReady says that queued work has not finished yet.
	ErrNotReady = errors.New("gpu: work not finished")
	// ErrClosed says that the device was closed.
	ErrClosed = errors.New("gpu: device closed")
	// ErrClaimed says that another process holds the device.
	ErrClaimed = errors.New("gpu: device claimed by another process")
	// ErrNoImage says that a module has no code that this device can run.
	ErrNoImage = errors.New("gpu: no kernel image for this device")
)

// Code is a CUresult, the driver's answer to one call.
type Code int32

// Driver codes that this package names. The rest are classified by number.
const (
	codeInvalidValue  Code = 1
	codeOutOfMemory   Code = 2
	codeDeinitialized Code = 4
	codeNoDevice      Code = 100
	codeECC           Code = 214
	codeNVLink        Code = 220
	codeNotReady      Code = 600
	codePeerEnabled   Code = 704
	codeAssert        Code = 710
	codeUnknown       Code = 999
)

// Class returns the sentinel that tells a caller what to do about the code.
func (c Code) Class() error {
	switch {
	case c == codeOutOfMemory:
		return ErrOutOfMemory
	case c == codeNotReady:
		return ErrNotReady
	case c == codeNoDevice:
		return ErrNoDevice
	case c.Sticky():
		return ErrDeviceLost
	}
	return ErrInvalid
}

// Sticky says whether the context answers every later call with an error as well.
func (c Code) Sticky() bool {
	switch c {
	case codeDeinitialized, 46, codeECC, codeNVLink, codeUnknown,
		226, 700, 702, 709, codeAssert, 714, 715, 716, 717, 718, 719, 721, 802, 803, 804:
		// 46 devices unavailable, 226 contained error, 700 illegal address, 702 kernel timeout,
		// 709 context destroyed, 714-719 faults of the running kernel, 721 contained device fault,
		// 802-804 system not ready for CUDA.
		return true
	default:
		return false
	}
}

// Error is one refused driver call.
type Error struct {
	Op     string // the driver's function, or what was attempted
	Code   Code
	Detail string // the driver's words, and a compiler log where there is one
}

// Error gives the call, the number and the driver's words.
func (e *Error) Error() string {
	return fmt.Sprintf("gpu: %s: code %d: %s", e.Op, e.Code, e.Detail)
}

// Is makes errors.Is(err, ErrOutOfMemory) and the other classes work.
func (e *Error) Is(target error) bool { return target == e.Code.Class() }

// PanicError is a panic of a function run on the device thread, with its stack.
type PanicError struct {
	Value any
	Stack []byte
}

// Error gives the panic's value; Stack stays in its field.
func (e *PanicError) Error() string {
	return fmt.Sprintf("gpu: panic on the device thread: %v", e.Value)
}

// joinFirst returns the first error that is not nil: later ones follow from it.
func joinFirst(errs ...error) error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}
