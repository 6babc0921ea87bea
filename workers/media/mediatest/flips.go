package mediatest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// Flipped are n files made of the originals by turning some of their bits, drawn from the seed.
func Flipped(seed uint64, n int) []File {
	draw := rand.New(rand.NewPCG(seed, 0))
	originals := Originals()
	out := make([]File, n)
	for i := range out {
		original := originals[i%len(originals)]
		data := bytes.Clone(original.Data)
		for range 1 + draw.IntN(8) {
			// Half of them in the first bytes, where the headers are.
			length := len(data)
			if draw.IntN(2) == 0 {
				length = min(length, 64)
			}
			bit := draw.IntN(length * 8)
			data[bit/8] ^= 1 << (bit % 8)
		}
		out[i] = File{Name: fmt.Sprintf("%s flipped, %d of seed %d", original.Name, i, seed), Data: data, Odd: true}
	}
	return out
}
