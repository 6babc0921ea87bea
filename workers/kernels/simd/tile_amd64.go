package simd

// tile6x16 needs AVX2 and FMA.
//
//go:noescape
func tile6x16(t *Tile)

// tile12x32 needs AVX-512.
//
//go:noescape
func tile12x32(t *Tile)

// tile12x16 needs AVX-512.
//
//go:noescape
func tile12x16(t *Tile)

// tilePairs12x32 needs AVX512_BF16.
//
//go:noescape
func tilePairs12x32(t *Tile)

// tilePairs12x16 needs AVX512_BF16.
//
//go:noescape
func tilePairs12x16(t *Tile)
