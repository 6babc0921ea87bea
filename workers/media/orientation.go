package media

import (
	"bytes"
	"encoding/binary"
)

// orientation is the EXIF value 1 to 8: how the stored rows and columns lie in the upright picture.
type orientation int

const orientationUpright orientation = 1

// measure answers the size of the upright picture for w x h stored pixels, without its pixels.
func (o orientation) measure(w, h int) Image {
	if o >= 5 {
		w, h = h, w
	}
	return Image{Width: w, Height: h}
}

// layout answers an empty upright picture for w x h stored pixels, the offset in it of the first stored pixel, and the steps to the next
// pixel of a stored row and to the next stored row.
func (o orientation) layout(w, h int) (out Image, start, right, down int) {
	out = o.measure(w, h)
	out.RGB = make([]byte, w*h*3)
	stride, last := out.Width*3, len(out.RGB)-3
	switch o {
	case 2:
		return out, stride - 3, -3, stride
	case 3:
		return out, last, -3, -stride
	case 4:
		return out, last + 3 - stride, 3, -stride
	case 5:
		return out, 0, stride, 3
	case 6:
		return out, stride - 3, stride, -3
	case 7:
		return out, last, -stride, -3
	case 8:
		return out, last + 3 - stride, -stride, 3
	default:
		return out, 0, 3, stride
	}
}

const (
	exifPrefix = "Exif\x00\x00"
	// exifTagOrientation and exifTypeShort are of TIFF 6.0; entries are exifEntryBytes long.
	exifTagOrientation = 0x0112
	exifTypeShort      = 3
	exifEntryBytes     = 12
)

// jpegOrientation reads the orientation, upright where there is none that makes sense or the file is no JPEG.
func jpegOrientation(file []byte) orientation {
	found := orientationUpright
	if !bytes.HasPrefix(file, []byte{0xff, markerSOI}) {
		return found
	}
	jpegSegments(file, func(marker byte, _ int, data []byte) bool {
		if marker == markerAPP1 && bytes.HasPrefix(data, []byte(exifPrefix)) {
			found = exifOrientation(data[len(exifPrefix):])
			return false
		}
		return marker != markerSOS
	})
	return found
}

// exifOrientation looks through the first directory of a TIFF structure.
func exifOrientation(tiff []byte) orientation {
	if len(tiff) < 8 {
		return orientationUpright
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	offset := int64(order.Uint32(tiff[4:]))
	if offset+2 > int64(len(tiff)) {
		return orientationUpright
	}
	entries := tiff[offset+2:]
	for range order.Uint16(tiff[offset:]) {
		if len(entries) < exifEntryBytes {
			break
		}
		if order.Uint16(entries) == exifTagOrientation && order.Uint16(entries[2:]) == exifTypeShort {
			if o := orientation(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			break
		}
		entries = entries[exifEntryBytes:]
	}
	return orientationUpright
}
