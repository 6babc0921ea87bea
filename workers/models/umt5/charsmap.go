package umt5

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// charsmap is a table of what characters become before a text is split: a double array of the
// sequences that change, in the form that SentencePiece compiles, and the texts they become.
type charsmap struct {
	units []uint32
	texts []byte
}

// parseCharsmap reads a precompiled table; an empty one changes nothing.
func parseCharsmap(blob []byte) (charsmap, error) {
	if len(blob) == 0 {
		return charsmap{}, nil
	}
	const length, unit = 4, 4
	if len(blob) < length {
		return charsmap{}, unusable("a table of characters of %d bytes", len(blob))
	}
	n := int64(binary.LittleEndian.Uint32(blob))
	if n == 0 || n%unit != 0 || n >= int64(len(blob)-length) {
		return charsmap{}, unusable("a table of characters of %d bytes with %d of its tree", len(blob), n)
	}
	c := charsmap{units: make([]uint32, n/unit), texts: blob[length+n:]}
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(blob[length+i*unit:])
	}
	if c.texts[len(c.texts)-1] != 0 {
		return charsmap{}, unusable("a table of characters without an end")
	}
	return c, nil
}

// prefix is what the text begins with becomes, and how many bytes it is: the longest sequence of
// the table, or one character, which stays. A byte that is no UTF-8 becomes the replacement character.
func (c charsmap) prefix(text string) (string, int) {
	if value, n := c.longest(text); n > 0 && value < len(c.texts) {
		rest := c.texts[value:]
		return string(rest[:bytes.IndexByte(rest, 0)]), n
	}
	r, n := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && n == 1 {
		return string(utf8.RuneError), 1
	}
	return text[:n], n
}

// longest walks the double array along the text and answers the value of the longest sequence that
// is in it, and that sequence's length.
func (c charsmap) longest(text string) (value, length int) {
	if len(c.units) == 0 {
		return 0, 0
	}
	at := offset(c.units[0])
	for i := range len(text) {
		at ^= uint32(text[i])
		if int64(at) >= int64(len(c.units)) {
			return value, length
		}
		unit := c.units[at]
		const label = 1<<31 | 0xff
		if unit&label != uint32(text[i]) {
			return value, length
		}
		at ^= offset(unit)
		const leaf = 1 << 8
		if unit&leaf != 0 && int64(at) < int64(len(c.units)) {
			value, length = int(c.units[at]&(1<<31-1)), i+1
		}
	}
	return value, length
}

// offset is where a unit's children are, beside its own place.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
