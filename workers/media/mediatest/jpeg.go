package mediatest

import (
	"bytes"
	"encoding/binary"
)

func segment(marker byte, data []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(data)+2)), data...)
}

func afterSOI(file, more []byte) []byte { return join(file[:2], more, file[2:]) }

// patched is the original with other bytes at an offset behind a marker.
func patched(marker byte, behind int, to ...byte) []byte {
	out := jpegPicture()
	at := bytes.Index(out, []byte{0xff, marker})
	copy(out[at+2+behind:], to)
	return out
}

func jpegOfSize(width, height uint16) []byte {
	return patched(0xc0, 3, byte(height>>8), byte(height), byte(width>>8), byte(width))
}

// scans is a progressive JPEG of 1920x1088 that refines the same nothing n times, a dozen bytes each.
func scans(n int) []byte {
	quantisers := append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)
	codes := func(class, symbol byte) []byte { return join(class, "\x01", make([]byte, 15), symbol) }
	frame := []byte{8, 1088 >> 8, 1088 & 0xff, 1920 >> 8, 1920 & 0xff, 1, 1, 0x11, 0}
	out := join("\xff\xd8", segment(0xdb, quantisers), segment(0xc2, frame), segment(0xc4, codes(0, 0)), segment(0xc4, codes(0x10, 0xe0)))
	// 240x136 blocks of one bit each.
	out = join(out, segment(0xda, []byte{1, 1, 0, 0, 0, 0}), make([]byte, 240*136/8))
	// One run of 32640 blocks: the code 0, and 32640 - 16384 in 14 bits.
	run := segment(0xda, []byte{1, 1, 0, 1, 63, 0})
	out = join(out, bytes.Repeat(join(run, "\x7f\x01"), n))
	return join(out, "\xff\xd9")
}

// exif is an orientation in a structure that the caller may break.
func exif(tiff ...any) []byte { return segment(0xe1, join("Exif\x00\x00", join(tiff...))) }

// oddJPEG are JPEGs that break one rule each.
func oddJPEG() []File {
	good := jpegPicture()
	entry := "\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00"
	return append(refused(map[string][]byte{
		"JPEG of nothing":                   []byte("\xff\xd8\xff\xd9"),
		"JPEG of no width":                  jpegOfSize(0, Side),
		"JPEG of no height":                 jpegOfSize(Side, 0),
		"JPEG of 12 bits":                   patched(0xc0, 2, 12),
		"JPEG of 0 components":              patched(0xc0, 7, 0),
		"JPEG of 255 components":            patched(0xc0, 7, 255),
		"JPEG of 2 components":              patched(0xc0, 7, 2),
		"JPEG sampling of 0":                patched(0xc0, 9, 0),
		"JPEG sampling of 15":               patched(0xc0, 9, 0xff),
		"JPEG quantiser 9":                  patched(0xc0, 10, 9),
		"JPEG with arithmetic codes":        bytes.Replace(good, []byte{0xff, 0xc0}, []byte{0xff, 0xc9}, 1),
		"JPEG of the lossless kind":         bytes.Replace(good, []byte{0xff, 0xc0}, []byte{0xff, 0xc3}, 1),
		"JPEG with an overfull code":        patched(0xc4, 3, 255, 255, 255),
		"JPEG with a code of length 0":      patched(0xc4, 0, 0, 2),
		"JPEG table 255":                    patched(0xc4, 2, 0xff),
		"JPEG quantisers of length 1":       patched(0xdb, 0, 0, 1),
		"JPEG with two frames":              bytes.Replace(good, []byte{0xff, 0xda}, join(segment(0xc0, []byte{8, 0, 64, 0, 64, 1, 1, 0x11, 0}), "\xff\xda"), 1),
		"JPEG with a scan first":            afterSOI(good, segment(0xda, []byte{1, 1, 0, 0, 63, 0})),
		"JPEG with a scan of component 9":   patched(0xda, 3, 9),
		"JPEG with a scan of no components": patched(0xda, 2, 0),
		"JPEG without its end":              good[:len(good)-2],
		"JPEG segment of length 0":          afterSOI(good, []byte{0xff, 0xe2, 0, 0}),
		"JPEG segment beyond the end":       afterSOI(good[:20], []byte{0xff, 0xe2, 0xff, 0xff}),
		"JPEG with its beginning twice":     join("\xff\xd8", good[:4]),
		"JPEG of markers":                   join("\xff\xd8", bytes.Repeat([]byte{0xff}, 100_000)),
	}), odd(map[string][]byte{
		"EXIF that begins beyond":      afterSOI(good, exif("MM\x00\x2a\xff\xff\xff\xff")),
		"EXIF that begins in itself":   afterSOI(good, exif("MM\x00\x2a\x00\x00\x00\x00")),
		"EXIF of 65535 entries":        afterSOI(good, exif("MM\x00\x2a\x00\x00\x00\x08\xff\xff", entry)),
		"EXIF in a circle":             afterSOI(good, exif("MM\x00\x2a\x00\x00\x00\x08\x00\x01", entry, "\x00\x00\x00\x08")),
		"EXIF of another type":         afterSOI(good, exif("II\x2a\x00\x08\x00\x00\x00\x01\x00\x12\x01\x02\x00\xff\xff\xff\xff\xff\xff\xff\xff")),
		"EXIF of no order":             afterSOI(good, exif("XX\x00\x2a\x00\x00\x00\x08\x00\x01", entry)),
		"EXIF of nothing":              afterSOI(good, exif()),
		"EXIF cut":                     afterSOI(good, exif("MM\x00")),
		"EXIF 100 times":               afterSOI(good, bytes.Repeat(exif("MM\x00\x2a\x00\x00\x00\x08\x00\x01", entry), 100)),
		"EXIF of 64 KB":                afterSOI(good, exif("MM\x00\x2a\x00\x00\x00\x08\x00\x01", entry, make([]byte, 65000))),
		"EXIF orientation 0":           afterSOI(good, exif("MM\x00\x2a\x00\x00\x00\x08\x00\x01", bytes.Replace([]byte(entry), []byte{6}, []byte{0}, 1))),
		"ICC of 255 parts of 64 KB":    afterSOI(good, bytes.Repeat(segment(0xe2, join("ICC_PROFILE\x00\x09\x02", make([]byte, 65000))), 255)),
		"ICC part 0 of 0":              afterSOI(good, segment(0xe2, []byte("ICC_PROFILE\x00\x00\x00"))),
		"JPEG from Adobe, transform 9": afterSOI(good, segment(0xee, []byte("Adobe\x00\x64\x00\x00\x00\x00\x09"))),
		"JPEG that restarts each 0":    afterSOI(good, segment(0xdd, []byte{0, 0})),
		"JPEG that restarts each 1":    afterSOI(good, segment(0xdd, []byte{0, 1})),
		"JPEG with JFIF cut":           afterSOI(good, segment(0xe0, []byte("JF"))),
		"JPEG with a preview":          join(good, good),
		"JPEG with zeros behind":       join(good, make([]byte, 4096)),
		"JPEG of 50 scans":             scans(50),
	})...)
}
