package simd

// Level is a set of instructions that loops are written in. Higher ones include the lower.
type Level int

// Levels.
const (
	Generic    Level = iota // plain Go, any processor
	AVX2                    // with FMA: 8 lanes
	AVX512                  // F, BW, DQ and VL: 16 lanes in tiles, 8 in rows
	AVX512BF16              // tiles of bf16 pairs
)

// String is the level's name in reports.
func (l Level) String() string {
	return [...]string{"generic", "avx2", "avx512", "avx512-bf16"}[l]
}

// Levels lists what this processor can run, lowest first.
func Levels() []Level {
	var all []Level
	for l := Generic; l <= best(); l++ {
		all = append(all, l)
	}
	return all
}

// Best is the highest level of this processor.
func Best() Level { return best() }
