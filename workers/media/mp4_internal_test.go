package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// FuzzMP4 reads files as if they were of our own encoder: whatever they are, the answer is facts or an encoder's error, and no more memory than the file.
func FuzzMP4(f *testing.F) {
	box := func(kind string, body ...byte) []byte {
		return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+8)), kind...), body...)
	}
	times := box("mvhd", make([]byte, 100)...)
	long := box("mdhd", append([]byte{1}, make([]byte, 40)...)...)
	sizes := box("stsz", make([]byte, 12)...)
	entry := append(make([]byte, 8), append(append([]byte{0, 0, 0, 0}, "avc1"...), make([]byte, 78)...)...)
	description := box("stsd", append(entry, box("avcC", 1, 2, 3)...)...)
	table := box("stbl", append(append([]byte{}, sizes...), description...)...)
	index := box("moov", append(append(append([]byte{}, times...), long...), box("trak", box("mdia", box("minf", table...)...)...)...)...)
	f.Add(append(append(box("ftyp", 'i', 's', 'o', 'm'), index...), box("mdat", 0)...))
	f.Add(append(box("mdat", 0), index...))
	f.Add([]byte("\x00\x00\x00\x01moov\x7f\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x00\x01moov\x00\x00\x00\x00\x03\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x00\x00mdat"))
	f.Fuzz(func(t *testing.T, file []byte) {
		facts, err := readMP4(bytes.NewReader(file))
		if err != nil && !errors.Is(err, ErrEncoder) {
			t.Fatalf("an error of no class: %v", err)
		}
		if len(facts.avcC) > len(file) {
			t.Fatalf("a configuration of %d bytes from %d", len(facts.avcC), len(file))
		}
		_ = facts.check(mp4Want{width: 64, height: 64, frames: 1, fps: 16}) // whatever it says
	})
}
