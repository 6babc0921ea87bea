package gpu

import "fmt"

// XidError is a critical error that the driver reported of a GPU while nobody called it: the GPU cannot be used until it is reset. It is of
// the class ErrDeviceLost.
type XidError struct {
	UUID string
	Xid  uint64
}

// Error names the GPU and the number.
func (e *XidError) Error() string { return fmt.Sprintf("gpu: device %s: Xid %d", e.UUID, e.Xid) }

// Is makes errors.Is(err, ErrDeviceLost) work.
func (e *XidError) Is(target error) bool { return target == ErrDeviceLost }

// XidFatal says whether the driver's error report means that the GPU cannot be used
// until it is reset: it fell off the bus, or its memory or links are broken. Others
// (13 and 31, a fault of one program; 43 and 45, its end) cost only the program.
func XidFatal(xid uint64) bool {
	switch xid {
	case 48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140:
		return true
	}
	return false
}
