package viewer

import "encoding/binary"

// The parts of a VP8 keyframe's header: RFC 6386, section 9.1.
const (
	keyHeaderBytes = 10
	sizeMask       = 1<<14 - 1
)

// Size is a keyframe's width and height in pixels; 0 for other frames, which have that of the keyframe before.
func (f Frame) Size() (width, height int) {
	if !f.Key || len(f.Data) < keyHeaderBytes {
		return 0, 0
	}
	return int(binary.LittleEndian.Uint16(f.Data[6:]) & sizeMask), int(binary.LittleEndian.Uint16(f.Data[8:]) & sizeMask)
}
