package simd

// All need AVX2 and FMA; n is a positive multiple of 8.

//go:noescape
func widen(dst *float32, src *uint16, n int)

//go:noescape
func narrow(dst *uint16, src *float32, n int)

//go:noescape
func moments(x *float32, n int, shift float32) (sum, squares float32)

//go:noescape
func largest(x *float32, n int) float32

//go:noescape
func expSum(dst, x *float32, n int, scale, shift float32) float32

//go:noescape
func sigmoid(x *float32, n int, a, b float32)

//go:noescape
func mulAdd(dst, x, by, plus *float32, n int)

//go:noescape
func affine(dst, x *float32, n int, s, t float32)

//go:noescape
func rotate(dst, x, table *float32, n int)

//go:noescape
func dot(x *float32, w *uint16, n int) float32

//go:noescape
func transpose(dst *uint32, strideOut int, src *uint32, strideIn, n int)

//go:noescape
func interleave(dst *uint32, a, b *uint16, n int)
