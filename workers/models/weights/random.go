package weights

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"telefuser/workers/kernels"
)

// randomPrefix marks weights from a seed, in flags and wherever their origin is told.
const randomPrefix = "random:"

// Random is a set of true shapes whose values come from a seed alone: element i of a tensor is
// a function of the seed, the tensor's name and i, so any part can be made at any time. Values
// are rounded to bf16, as if they lay in a file, and have the same bits on every backend.
func Random(seed uint64, b Blueprint) *Set {
	return &Set{blueprint: b, byName: byName(b), layout: Original, seed: seed}
}

// ParseRandom reads "random:SEED"; false if the text is no such thing but perhaps a path.
func ParseRandom(text string) (seed uint64, ok bool, err error) {
	digits, ok := strings.CutPrefix(text, randomPrefix)
	if !ok {
		return 0, false, nil
	}
	if seed, err = strconv.ParseUint(digits, 10, 64); err != nil {
		return 0, true, fmt.Errorf("weights: %q: the seed is a whole number from 0 on", text)
	}
	return seed, true, nil
}

// noise is the operation that makes elements of a parameter from a multiple of four on.
func (s *Set) noise(y kernels.Tensor, p Parameter, first int) kernels.Noise {
	return kernels.Noise{Y: y, Seed: s.seed, Stream: stream(p.Name), First: uint64(first), Sigma: p.Sigma}
}

// stream is the part of the generator's counter that belongs to a name: FNV-1a of 64 bits.
func stream(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// draw writes elements of a parameter, from the given one on.
func (s *Set) draw(dst []byte, d kernels.DType, p Parameter, from int) error {
	const four = 4 // a counter of the generator makes so many
	n, skip := len(dst)/d.Bytes(), from%four
	if n == 0 {
		return nil
	}
	y := kernels.Layout(kernels.F32, n+skip)
	y.Host = make([]byte, y.Span())
	if err := (kernels.Reference{}).Run(s.noise(y, p, from-skip)); err != nil {
		return fmt.Errorf("weights: draw %s: %w", p.Name, err)
	}
	for i := range n {
		v := element(y.Host[4*(i+skip):], F32)
		if p.Centre != 0 { // else -0 stays what it is on other backends
			v += p.Centre
		}
		b := narrow(v)
		if d == kernels.BF16 {
			binary.LittleEndian.PutUint16(dst[2*i:], b)
		} else {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(b)<<16)
		}
	}
	return nil
}
