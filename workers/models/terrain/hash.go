package terrain

import (
	"strings"
)

// dice is a stream of numbers that follows from its seed alone (the splitmix64 recurrence).
type dice struct{ state uint64 }

// newDice mixes text and a number into a stream. Letter case and the spaces around words mean nothing.
func newDice(text string, seed int64) *dice {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, b := range []byte(strings.Join(strings.Fields(strings.ToLower(text)), " ")) {
		h = (h ^ uint64(b)) * prime
	}
	d := &dice{state: h ^ uint64(seed)*0x9e3779b97f4a7c15}
	d.next()
	return d
}

func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit is uniform in [0, 1).
func (d *dice) unit() float64 { return float64(d.next()>>11) / (1 << 53) }

// between is uniform in [low, high).
func (d *dice) between(low, high float64) float64 { return mix(low, high, d.unit()) }
