package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// mp4Facts is what is read back from a file of ours: one video track.
type mp4Facts struct {
	// indexFirst is whether moov lies before mdat.
	indexFirst bool
	// reordered is whether pictures are shown in another order than they are stored: B-frames.
	reordered      bool
	width, height  int
	frames         int
	movieTimescale uint32
	movieDuration  uint64
	mediaTimescale uint32
	mediaDuration  uint64
	// avcC is the decoder's configuration: equal ones can be joined.
	avcC []byte
}

// moovBytesMax bounds the index that is read into memory: 8 hours at 60 frames a second need less.
const moovBytesMax = 64 << 20

// box is the head of one part of a file: its type, where its content begins and how long that is.
type box struct {
	kind string
	body []byte
}

// readMP4 looks at the outer boxes and reads the index.
func readMP4(r io.ReaderAt) (mp4Facts, error) {
	var facts mp4Facts
	var seenMdat, seenMoov bool
	for at := int64(0); ; {
		var head [16]byte
		if n, err := r.ReadAt(head[:], at); n < 8 {
			if n == 0 && err == io.EOF && seenMoov && seenMdat {
				return facts, nil
			}
			return facts, fmt.Errorf("%w: the file ends inside a box or has no index", ErrEncoder)
		}
		size, headSize := int64(binary.BigEndian.Uint32(head[:])), int64(8)
		if size == 1 {
			size, headSize = int64(binary.BigEndian.Uint64(head[8:])), 16
		}
		if size < headSize {
			return facts, fmt.Errorf("%w: a box of %d bytes", ErrEncoder, size)
		}
		switch string(head[4:8]) {
		case "mdat":
			seenMdat = true
		case "moov":
			facts.indexFirst, seenMoov = !seenMdat, true
			if size > moovBytesMax {
				return facts, fmt.Errorf("%w: an index of %d bytes", ErrEncoder, size)
			}
			body := make([]byte, size-headSize)
			if _, err := r.ReadAt(body, at+headSize); err != nil {
				return facts, fmt.Errorf("%w: the index: %v", ErrEncoder, err)
			}
			if err := facts.readBoxes(body); err != nil {
				return facts, err
			}
		}
		at += size
	}
}

// readBoxes walks boxes and the boxes within them.
func (f *mp4Facts) readBoxes(b []byte) error {
	for len(b) > 0 {
		if len(b) < 8 {
			return fmt.Errorf("%w: the index ends inside a box", ErrEncoder)
		}
		size := int64(binary.BigEndian.Uint32(b))
		if size < 8 || size > int64(len(b)) {
			return fmt.Errorf("%w: a box of %d bytes in the index", ErrEncoder, size)
		}
		if err := f.readBox(box{kind: string(b[4:8]), body: b[8:size]}); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// Offsets of what follows the version in full boxes, and of the boxes inside a sample description.
const (
	stsdEntries   = 8
	avc1Size      = 8 + 24
	avc1Boxes     = 8 + 78
	stszCount     = 8
	fullBoxHeader = 4
)

func (f *mp4Facts) readBox(b box) error {
	switch b.kind {
	case "trak", "mdia", "minf", "stbl":
		return f.readBoxes(b.body)
	case "mvhd":
		return readTimes(b, &f.movieTimescale, &f.movieDuration)
	case "mdhd":
		return readTimes(b, &f.mediaTimescale, &f.mediaDuration)
	case "ctts":
		f.reordered = true
	case "stsz":
		if len(b.body) < stszCount+4 {
			return fmt.Errorf("%w: a short stsz", ErrEncoder)
		}
		f.frames = int(binary.BigEndian.Uint32(b.body[stszCount:]))
	case "stsd":
		return f.readDescription(b.body)
	}
	return nil
}

// readTimes reads the clock and the duration, which lie alike in mvhd and mdhd.
func readTimes(b box, timescale *uint32, duration *uint64) error {
	// Two dates come first, of four bytes each, or eight from version 1 on.
	at, long := fullBoxHeader+8, false
	if len(b.body) > 0 && b.body[0] == 1 {
		at, long = fullBoxHeader+16, true
	}
	if len(b.body) < at+12 {
		return fmt.Errorf("%w: a short %s", ErrEncoder, b.kind)
	}
	*timescale = binary.BigEndian.Uint32(b.body[at:])
	*duration = uint64(binary.BigEndian.Uint32(b.body[at+4:]))
	if long {
		*duration = binary.BigEndian.Uint64(b.body[at+4:])
	}
	return nil
}

// readDescription reads the size of the pictures and the decoder's configuration of an H.264 track.
func (f *mp4Facts) readDescription(b []byte) error {
	if len(b) < stsdEntries+avc1Boxes || string(b[stsdEntries+4:stsdEntries+8]) != "avc1" {
		return fmt.Errorf("%w: no H.264 track", ErrEncoder)
	}
	entry := b[stsdEntries:]
	f.width, f.height = int(binary.BigEndian.Uint16(entry[avc1Size:])), int(binary.BigEndian.Uint16(entry[avc1Size+2:]))
	at := bytes.Index(entry[avc1Boxes:], []byte("avcC"))
	if at < 4 {
		return fmt.Errorf("%w: no decoder configuration", ErrEncoder)
	}
	conf := entry[avc1Boxes+at-4:]
	size := int64(binary.BigEndian.Uint32(conf))
	if size < 8 || size > int64(len(conf)) {
		return fmt.Errorf("%w: a decoder configuration of %d bytes", ErrEncoder, size)
	}
	f.avcC = conf[8:size]
	return nil
}

// check compares with what went in.
func (f mp4Facts) check(want mp4Want) error {
	exact := func(duration uint64, timescale uint32) bool {
		return duration*uint64(want.fps) == uint64(want.frames)*uint64(timescale)
	}
	switch {
	case f.width != want.width || f.height != want.height:
		return fmt.Errorf("%w: the file shows %d x %d instead of %d x %d", ErrEncoder, f.width, f.height, want.width, want.height)
	case f.frames != want.frames:
		return fmt.Errorf("%w: the file holds %d frames instead of %d", ErrEncoder, f.frames, want.frames)
	case !exact(f.movieDuration, f.movieTimescale) || !exact(f.mediaDuration, f.mediaTimescale):
		return fmt.Errorf("%w: the file lasts %d/%d s, its track %d/%d s, instead of %d/%d s", ErrEncoder,
			f.movieDuration, f.movieTimescale, f.mediaDuration, f.mediaTimescale, want.frames, want.fps)
	case !f.indexFirst:
		return fmt.Errorf("%w: the index lies behind the pictures", ErrEncoder)
	case f.reordered:
		return fmt.Errorf("%w: the file has B-frames", ErrEncoder)
	}
	return nil
}
