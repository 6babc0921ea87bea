//go:build !amd64

package simd

// There is only the level Generic here, which calls none of these.

func tile6x16(t *Tile)       { tileGeneric(t) }
func tile12x32(t *Tile)      { tileGeneric(t) }
func tile12x16(t *Tile)      { tileGeneric(t) }
func tilePairs12x32(t *Tile) { tileGeneric(t) }
func tilePairs12x16(t *Tile) { tileGeneric(t) }

func widen(*float32, *uint16, int)                          {}
func narrow(*uint16, *float32, int)                         {}
func moments(*float32, int, float32) (sum, squares float32) { return 0, 0 }
func largest(*float32, int) float32                         { return 0 }
func expSum(_, _ *float32, _ int, _, _ float32) float32     { return 0 }
func sigmoid(*float32, int, float32, float32)               {}
func mulAdd(_, _, _, _ *float32, _ int)                     {}
func affine(_, _ *float32, _ int, _, _ float32)             {}
func rotate(_, _, _ *float32, _ int)                        {}
func dot(*float32, *uint16, int) float32                    { return 0 }
func transpose(_ *uint32, _ int, _ *uint32, _, _ int)       {}
func interleave(_ *uint32, _, _ *uint16, _ int)             {}
