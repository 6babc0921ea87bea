package jobs

import (
	"crypto/rand"
	"regexp"
	"time"
)

// crockford is the alphabet of ids in ascending order, so that the text of an id sorts as its time does.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

var idPattern = regexp.MustCompile(`^video_[0-9A-Za-z]{26}$`)

// NewID makes a job id: "video_" and 26 characters of 48 bits of milliseconds, then 80 random bits. Ids sort by time as text, so a
// cursor keeps its place when its row is deleted, and cannot be guessed.
func NewID(now time.Time) string { return newID("video_", now) }

// ValidID says whether the text has the form of a job id; anything else is kept away from every key.
func ValidID(id string) bool { return idPattern.MatchString(id) }

// newID makes the 26 characters behind a prefix.
func newID(prefix string, now time.Time) string {
	var raw [16]byte
	ms := now.UnixMilli()
	for i := range 6 {
		raw[i] = byte(ms >> (8 * (5 - i)))
	}
	_, _ = rand.Read(raw[6:]) // never fails: the standard library ends the process instead
	return prefix + encode(raw)
}

// encode writes 128 bits as 26 characters of 5 bits, the first of which holds the upper 3.
func encode(raw [16]byte) string {
	var out [26]byte
	var acc uint64
	bits, at := 2, 0 // two leading zero bits make 130, a multiple of five
	for _, b := range raw {
		acc = acc<<8 | uint64(b)
		bits += 8
		for bits >= 5 {
			bits -= 5
			out[at] = crockford[acc>>bits&31]
			at++
		}
	}
	return string(out[:])
}
