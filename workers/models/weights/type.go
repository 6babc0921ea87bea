package weights

import "telefuser/workers/kernels"

// Type is a tensor's element type in a file.
type Type string

// The types that a set can give. Files may hold others, which no model here wants.
const (
	F32  Type = "F32"
	F16  Type = "F16"
	BF16 Type = "BF16"
)

// elementBits are the sizes of the elements that files may hold.
var elementBits = map[Type]uint64{ //nolint:gochecknoglobals // constant table
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "I16": 16, "U16": 16, F16: 16, BF16: 16,
	"I32": 32, "U32": 32, F32: 32, "F64": 64, "I64": 64, "U64": 64,
}

// Bytes is the size of an element; 0 for a type that files may not hold.
func (t Type) Bytes() int { return int(elementBits[t] / 8) }

// readable says whether a set can give elements of this type.
func (t Type) readable() bool { return t == F32 || t == F16 || t == BF16 }

// same says whether elements of a file are a backend's as they lie.
func (t Type) same(d kernels.DType) bool {
	return t == F32 && d == kernels.F32 || t == BF16 && d == kernels.BF16
}
