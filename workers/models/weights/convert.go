package weights

import (
	"encoding/binary"
	"math"

	"telefuser/workers/kernels"
)

// convert writes elements of a file as a backend's F32 or BF16. Both slices hold the same
// number of elements; bf16 is rounded to the nearest, ties to even.
func convert(dst []byte, d kernels.DType, src []byte, t Type) {
	if t.same(d) {
		copy(dst, src)
		return
	}
	step, size := t.Bytes(), d.Bytes()
	for i := range len(src) / step {
		v := element(src[i*step:], t)
		if d == kernels.F32 {
			binary.LittleEndian.PutUint32(dst[i*size:], math.Float32bits(v))
		} else {
			binary.LittleEndian.PutUint16(dst[i*size:], kernels.BF16FromFloat(float64(v)))
		}
	}
}

// element reads one element of a readable type; all of them are exact in float32.
func element(src []byte, t Type) float32 {
	switch t {
	case F16:
		return halfToFloat(binary.LittleEndian.Uint16(src))
	case BF16:
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(src)) << 16)
	default:
		return math.Float32frombits(binary.LittleEndian.Uint32(src))
	}
}

// halfToFloat is exact, with infinities and NaNs kept.
func halfToFloat(h uint16) float32 {
	const mantissa, infinite = 10, 31
	sign, e, m := uint32(h>>15)<<31, uint32(h>>mantissa&infinite), uint32(h&(1<<mantissa-1))
	switch e {
	case 0:
		v := float32(m) * 0x1p-24
		return math.Float32frombits(math.Float32bits(v) | sign)
	case infinite:
		return math.Float32frombits(sign | 0xff<<23 | m<<13)
	default:
		return math.Float32frombits(sign | (e+127-15)<<23 | m<<13)
	}
}
