package kernels

import "math"

// DType is a tensor's element type.
type DType uint8

// Element types.
const (
	F32 DType = iota
	BF16
	E4M3 // 8-bit float, 4 bits of exponent, no infinities, largest value 448
	I32
	U8
)

// E4M3Max is the largest finite e4m3 value.
const E4M3Max = 448

// Bytes is the size of one element.
func (t DType) Bytes() int {
	switch t {
	case F32, I32:
		return 4
	case BF16:
		return 2
	default:
		return 1
	}
}

// String is the type's name in kernels' names.
func (t DType) String() string {
	return [...]string{"f32", "bf16", "e4m3", "i32", "u8"}[t]
}

// BF16FromFloat rounds to the nearest bf16, ties to even.
func BF16FromFloat(x float64) uint16 {
	f := float32(x)
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + (b >> 16 & 1)) >> 16)
}

// BF16ToFloat is exact.
func BF16ToFloat(b uint16) float64 { return float64(math.Float32frombits(uint32(b) << 16)) }

// E4M3FromFloat rounds to the nearest e4m3, ties to even; values beyond 448 become 448.
func E4M3FromFloat(x float64) uint8 {
	if math.IsNaN(x) {
		return 0x7f
	}
	var sign uint8
	if math.Signbit(x) {
		sign, x = 0x80, -x
	}
	const minExp, bias, steps = -6, 7, 8
	if x < 0x1p-6 { // steps of 2^-9; eight of them make the least normal number
		return sign | uint8(math.RoundToEven(x*0x1p9))
	}
	if x >= E4M3Max {
		return sign | 0x7e
	}
	e := max(math.Ilogb(x), minExp)
	q := int(math.RoundToEven(math.Ldexp(x, -e) * steps)) // 8 to 16
	code := (e+bias)*steps + q - steps
	return sign | uint8(min(code, 0x7e))
}

// E4M3ToFloat is exact.
func E4M3ToFloat(b uint8) float64 {
	e, m := int(b>>3&15), float64(b&7)
	v := math.Ldexp(m, -9)
	if e > 0 {
		v = math.Ldexp(1+m/8, e-7)
	}
	if b&0x7f == 0x7f {
		return math.NaN()
	}
	if b&0x80 != 0 {
		return -v
	}
	return v
}
