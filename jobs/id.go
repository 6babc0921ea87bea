package jobs

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"
	"regexp"
	"sync"
	"time"
)

// crockford is the alphabet of ids in ascending order, so that the text of an id sorts as its time does.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

var idPattern = regexp.MustCompile(`^video_[0-9A-Za-z]{26}$`)

// NewID makes a job id: "video_" and 26 characters of 48 bits of milliseconds, then 80 random bits. Ids sort by time as text, so a
// cursor keeps its place when its row is deleted, and cannot be guessed. Two ids of one millisecond sort at random; see IDs.
func NewID(now time.Time) string { return newID("video_", now) }

// clockStepMax is how far the clock may fall back before IDs follows it; what is less is jitter between cores.
const clockStepMax = time.Second

// IDs makes job ids like NewID, each of which sorts behind all that it made before, so that jobs of one process list in the order in
// which it took them. Within a millisecond the random part grows by a random step, so that one id does not tell the next. The zero
// value is ready; it is safe for concurrent use.
type IDs struct {
	mu sync.Mutex
	// ms is the millisecond of the last id; high and low are its random part, of 16 and 64 bits.
	ms        int64
	high, low uint64
}

// New makes the next id. A clock that falls back by more than a second is followed, and the order then begins anew.
func (s *IDs) New(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := now.UnixMilli()
	switch {
	case ms > s.ms || s.ms-ms > clockStepMax.Milliseconds():
		s.begin(ms)
	case !s.step():
		s.begin(s.ms + 1) // the random part is used up, once in 2^32 ids or so
	}
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(s.ms)<<16|s.high)
	binary.BigEndian.PutUint64(raw[8:], s.low)
	return "video_" + encode(raw)
}

// begin starts a millisecond with 80 fresh random bits.
func (s *IDs) begin(ms int64) {
	var raw [10]byte
	_, _ = rand.Read(raw[:]) // never fails: the standard library ends the process instead
	s.ms, s.high, s.low = ms, uint64(binary.BigEndian.Uint16(raw[:2])), binary.BigEndian.Uint64(raw[2:])
}

// step adds 1 to 2^48 to the random part and says whether it still fits 80 bits.
func (s *IDs) step() bool {
	var raw [8]byte
	_, _ = rand.Read(raw[2:]) // as above
	var carry uint64
	s.low, carry = bits.Add64(s.low, binary.BigEndian.Uint64(raw[:])+1, 0)
	s.high += carry
	return s.high < 1<<16
}

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
	width, at := 2, 0 // two leading zero bits make 130, a multiple of five
	for _, b := range raw {
		acc = acc<<8 | uint64(b)
		width += 8
		for width >= 5 {
			width -= 5
			out[at] = crockford[acc>>width&31]
			at++
		}
	}
	return string(out[:])
}
