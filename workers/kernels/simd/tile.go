package simd

import "unsafe"

// Tile is one block of sums of products: C[i][j] = Init[j] + sum over taps and units of A * B.
//
// A unit is 32 bits of A: one float32, or at AVX512BF16 two neighbouring bf16 whose products are
// both added. Row i of tap t starts at A + i*LDA + Offsets[t] and has Units units. B holds, for
// every tap and unit in order, that unit for each column: [taps][units][columns]. C has rows
// LDC bytes apart. All of a level's Rows are read and written; unwanted ones must be memory.
type Tile struct {
	A       unsafe.Pointer
	LDA     int // bytes
	B       unsafe.Pointer
	C       unsafe.Pointer // float32
	LDC     int            // bytes
	Init    unsafe.Pointer // float32, one a column
	Offsets unsafe.Pointer // int, bytes, one a tap
	Taps    int            // at least 1
	Units   int            // of a tap, at least 1
}

// Wide and Narrow are the columns of the two tiles that there are.
const (
	Wide   = 32
	Narrow = 16
)

// Rows is the height of a tile.
func (l Level) Rows() int {
	switch l {
	case Generic:
		return 4
	case AVX2:
		return 6
	default:
		return 12
	}
}

// Columns is the width of the tile that is best for so many columns, Wide or Narrow.
func (l Level) Columns(left int) int {
	if l >= AVX512 && left > Narrow {
		return Wide
	}
	return Narrow
}

// Pairs says that a unit is two bf16 and not one float32.
func (l Level) Pairs() bool { return l >= AVX512BF16 }

// Run computes a tile of so many columns, which Columns has chosen.
func (l Level) Run(columns int, t *Tile) {
	switch {
	case l == Generic:
		tileGeneric(t)
	case l == AVX2:
		tile6x16(t)
	case l == AVX512 && columns == Wide:
		tile12x32(t)
	case l == AVX512:
		tile12x16(t)
	case columns == Wide:
		tilePairs12x32(t)
	default:
		tilePairs12x16(t)
	}
}

// tileGeneric is 4 rows by 16 columns.
func tileGeneric(t *Tile) {
	const rows = 4
	var sums [rows][Narrow]float32
	for i := range sums {
		sums[i] = *(*[Narrow]float32)(t.Init)
	}
	done := 0 // units
	for tap := range t.Taps {
		base := unsafe.Add(t.A, *(*int)(unsafe.Add(t.Offsets, tap*int(unsafe.Sizeof(0)))))
		for u := range t.Units {
			w := (*[Narrow]float32)(unsafe.Add(t.B, done*Narrow*4))
			for i := range sums {
				a, s := *(*float32)(unsafe.Add(base, i*t.LDA+4*u)), &sums[i]
				for j := range w {
					s[j] += a * w[j]
				}
			}
			done++
		}
	}
	for i := range sums {
		*(*[Narrow]float32)(unsafe.Add(t.C, i*t.LDC)) = sums[i]
	}
}
