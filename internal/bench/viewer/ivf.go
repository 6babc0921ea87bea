package viewer

import (
	"encoding/binary"
)

// The sizes of the container's headers, in bytes.
const (
	ivfFileHeader  = 32
	ivfFrameHeader = 12
	// clockRate is the track's clock, in ticks a second.
	clockRate = 90_000
)

// IVF wraps the kept frames in the simplest container, from the first keyframe on, so that ffmpeg can decode what a browser would show.
func IVF(frames []Frame, width, height int) []byte {
	out := make([]byte, ivfFileHeader)
	copy(out, "DKIF")
	binary.LittleEndian.PutUint16(out[6:], ivfFileHeader)
	copy(out[8:], "VP80")
	binary.LittleEndian.PutUint16(out[12:], uint16(width))
	binary.LittleEndian.PutUint16(out[14:], uint16(height))
	binary.LittleEndian.PutUint32(out[16:], clockRate)
	binary.LittleEndian.PutUint32(out[20:], 1)
	begun := false
	for _, f := range frames {
		if begun = begun || f.Key; !begun {
			continue
		}
		head := make([]byte, ivfFrameHeader)
		binary.LittleEndian.PutUint32(head, uint32(len(f.Data)))
		binary.LittleEndian.PutUint64(head[4:], uint64(f.Timestamp-frames[0].Timestamp))
		out = append(append(out, head...), f.Data...)
	}
	return out
}
