package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

const pngMagic = "\x89PNG\r\n\x1a\n"

// pngChunkOverhead is the length, type and checksum around a chunk's data.
const pngChunkOverhead = 12

// checkPNG walks the chunks: no animation, and nothing behind the last one.
func checkPNG(file []byte) error {
	for rest := file[len(pngMagic):]; len(rest) >= pngChunkOverhead; {
		size := int64(binary.BigEndian.Uint32(rest)) + pngChunkOverhead
		kind := string(rest[4:8])
		if size > int64(len(rest)) {
			break
		}
		rest = rest[size:]
		switch {
		case kind == "acTL":
			return fmt.Errorf("%w: an animated PNG", ErrImageType)
		case kind == "IEND" && len(rest) > 0:
			return fmt.Errorf("%w: PNG: %d bytes behind its end", ErrImageCorrupt, len(rest))
		case kind == "IEND":
			return nil
		}
	}
	return fmt.Errorf("%w: PNG: ends early", ErrImageCorrupt)
}

// jpegScansMax bounds the scans of a JPEG. Encoders make a dozen at most; each costs a walk over all blocks, however short it is.
const jpegScansMax = 100

// checkJPEG bounds the scans and finds the end of the first picture. Cameras append zeros and further JPEGs there (previews, depth); anything else makes the
// file two things at once.
func checkJPEG(file []byte) error {
	for rest := file; ; {
		end, scans := jpegEnd(rest)
		if scans > jpegScansMax {
			return fmt.Errorf("%w: JPEG: more than %d scans", ErrImageTooLarge, jpegScansMax)
		}
		if end < 0 {
			return fmt.Errorf("%w: JPEG: ends early", ErrImageCorrupt)
		}
		rest = bytes.TrimLeft(rest[end:], "\x00")
		if len(rest) == 0 {
			return nil
		}
		if !bytes.HasPrefix(rest, []byte("\xff\xd8\xff")) {
			return fmt.Errorf("%w: JPEG: %d bytes behind its end", ErrImageCorrupt, len(rest))
		}
	}
}

// JPEG markers.
const (
	markerSOI  = 0xd8
	markerEOI  = 0xd9
	markerSOS  = 0xda
	markerAPP1 = 0xe1
	markerTEM  = 0x01
)

// hasNoLength says whether a marker stands alone.
func hasNoLength(marker byte) bool {
	return marker == markerTEM || marker >= 0xd0 && marker <= markerSOI
}

// jpegEnd answers the offset behind the end marker, or -1, and how many scans come before it.
func jpegEnd(file []byte) (end, scans int) {
	end = -1
	jpegSegments(file, func(marker byte, at int, _ []byte) bool {
		switch marker {
		case markerEOI:
			end = at
		case markerSOS:
			scans++
		}
		return marker != markerEOI
	})
	return end, scans
}

// jpegSegments calls visit for each marker with the offset behind its segment and the segment's data, until visit answers false.
func jpegSegments(file []byte, visit func(marker byte, behind int, data []byte) bool) {
	for at := 2; at+1 < len(file); {
		if file[at] != 0xff || file[at+1] == 0x00 || file[at+1] == 0xff {
			// Coded data with its stuffed zeros, or fill bytes; nothing but a scan may hold them, and the decoder looks at that.
			at++
			continue
		}
		marker := file[at+1]
		at += 2
		if hasNoLength(marker) {
			continue
		}
		var data []byte
		if marker != markerEOI {
			if at+2 > len(file) {
				return
			}
			size := int(binary.BigEndian.Uint16(file[at:]))
			if size < 2 || at+size > len(file) {
				return
			}
			data = file[at+2 : at+size]
			at += size
		}
		if !visit(marker, at, data) {
			return
		}
	}
}

// webpAnimationFlag is the bit of VP8X that announces an animation.
const webpAnimationFlag = 0x02

// checkWebP demands that the container is as long as the file, and that nothing moves.
func checkWebP(file []byte) error {
	size := int64(binary.LittleEndian.Uint32(file[4:8]))
	if string(file[:4]) != "RIFF" || size+8 != int64(len(file)) {
		return fmt.Errorf("%w: WebP: the container says %d bytes, the file has %d", ErrImageCorrupt, size+8, len(file))
	}
	if len(file) > 20 && string(file[12:16]) == "VP8X" && file[20]&webpAnimationFlag != 0 {
		return fmt.Errorf("%w: an animated WebP", ErrImageType)
	}
	return nil
}
