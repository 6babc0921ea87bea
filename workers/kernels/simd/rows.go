package simd

import "math"

// step is the lanes of the row loops in assembly; what is left over is done in Go.
const step = 8

// whole is how many of n elements the loops in assembly do.
func (l Level) whole(n int) int {
	if l == Generic {
		return 0
	}
	return n &^ (step - 1)
}

// Widen turns bf16 into float32; dst is as long as src.
func (l Level) Widen(dst []float32, src []uint16) {
	dst = dst[:len(src)]
	n := l.whole(len(src))
	if n > 0 {
		widen(&dst[0], &src[0], n)
	}
	for i := n; i < len(src); i++ {
		dst[i] = math.Float32frombits(uint32(src[i]) << 16)
	}
}

// Narrow rounds float32 to the nearest bf16, ties to even; dst is as long as src.
func (l Level) Narrow(dst []uint16, src []float32) {
	dst = dst[:len(src)]
	n := l.whole(len(src))
	if n > 0 {
		narrow(&dst[0], &src[0], n)
	}
	for i := n; i < len(src); i++ {
		b := math.Float32bits(src[i])
		if src[i] != src[i] {
			dst[i] = 0x7fc0
			continue
		}
		dst[i] = uint16((b + 0x7fff + (b >> 16 & 1)) >> 16)
	}
}

// Moments is the sum of x - shift, and of its squares.
func (l Level) Moments(x []float32, shift float32) (sum, squares float32) {
	n := l.whole(len(x))
	if n > 0 {
		sum, squares = moments(&x[0], n, shift)
	}
	for _, v := range x[n:] {
		v -= shift
		sum += v
		squares += v * v
	}
	return sum, squares
}

// Max is the largest of x, which is not empty.
func (l Level) Max(x []float32) float32 {
	top := x[0]
	n := l.whole(len(x))
	if n > 0 {
		top = largest(&x[0], n)
	}
	for _, v := range x[n:] {
		top = max(top, v)
	}
	return top
}

// ExpSum sets dst = exp(x * scale - shift) and sums it; dst may be x.
func (l Level) ExpSum(dst, x []float32, scale, shift float32) (sum float32) {
	dst = dst[:len(x)]
	n := l.whole(len(x))
	if n > 0 {
		sum = expSum(&dst[0], &x[0], n, scale, shift)
	}
	for i := n; i < len(x); i++ {
		dst[i] = exp(x[i]*scale - shift)
		sum += dst[i]
	}
	return sum
}

// Sigmoid sets x = x / (1 + exp(-(a*x + b*x^3))): SiLU with a 1 and b 0, GELU's tanh form with GELUa and GELUb.
func (l Level) Sigmoid(x []float32, a, b float32) {
	n := l.whole(len(x))
	if n > 0 {
		sigmoid(&x[0], n, a, b)
	}
	for i := n; i < len(x); i++ {
		v := x[i]
		x[i] = v / (1 + exp(-v*(a+b*v*v)))
	}
}

// Factors of Sigmoid that make it GELU in the tanh form.
const (
	GELUa = 2 * 0.7978845608028654
	GELUb = GELUa * 0.044715
)

// MulAdd sets dst = x * g + b, element by element; dst may be any of them.
func (l Level) MulAdd(dst, x, g, b []float32) {
	x, g, b = x[:len(dst)], g[:len(dst)], b[:len(dst)]
	n := l.whole(len(dst))
	if n > 0 {
		mulAdd(&dst[0], &x[0], &g[0], &b[0], n)
	}
	for i := n; i < len(dst); i++ {
		dst[i] = x[i]*g[i] + b[i]
	}
}

// Affine sets dst = x * s + t; dst may be x.
func (l Level) Affine(dst, x []float32, s, t float32) {
	x = x[:len(dst)]
	n := l.whole(len(dst))
	if n > 0 {
		affine(&dst[0], &x[0], n, s, t)
	}
	for i := n; i < len(dst); i++ {
		dst[i] = x[i]*s + t
	}
}

// Rotate turns the pairs of x by the (cos, sin) of table, which is as long; dst may be x. The
// length is even.
func (l Level) Rotate(dst, x, table []float32) {
	x, table = x[:len(dst)], table[:len(dst)]
	n := l.whole(len(dst))
	if n > 0 {
		rotate(&dst[0], &x[0], &table[0], n)
	}
	for i := n; i+1 < len(dst); i += 2 {
		a, b, c, s := x[i], x[i+1], table[i], table[i+1]
		dst[i], dst[i+1] = a*c-b*s, b*c+a*s
	}
}

// Dot is the sum of products of float32 and bf16, as long as w.
func (l Level) Dot(x []float32, w []uint16) (sum float32) {
	x = x[:len(w)]
	n := l.whole(len(w))
	if n > 0 {
		sum = dot(&x[0], &w[0], n)
	}
	for i := n; i < len(w); i++ {
		sum += x[i] * math.Float32frombits(uint32(w[i])<<16)
	}
	return sum
}

// Transpose turns eight rows of n units, strideIn units apart, into n rows of eight, strideOut apart.
func (l Level) Transpose(dst []uint32, strideOut int, src []uint32, strideIn, n int) {
	_, _ = dst[(n-1)*strideOut+step-1], src[(step-1)*strideIn+n-1]
	done := l.whole(n)
	if done > 0 {
		transpose(&dst[0], strideOut, &src[0], strideIn, done)
	}
	for u := done; u < n; u++ {
		for r := range step {
			dst[u*strideOut+r] = src[r*strideIn+u]
		}
	}
}

// Interleave makes pairs (a, b), a in the low half; all are of one length.
func (l Level) Interleave(dst []uint32, a, b []uint16) {
	a, b = a[:len(dst)], b[:len(dst)]
	n := l.whole(len(dst))
	if n > 0 {
		interleave(&dst[0], &a[0], &b[0], n)
	}
	for i := n; i < len(dst); i++ {
		dst[i] = uint32(a[i]) | uint32(b[i])<<16
	}
}

// exp is what the loops in assembly compute: a polynomial on [-ln2/2, ln2/2], held to exponents of normal numbers.
func exp(x float32) float32 {
	const lowest, highest = -87, 88
	return float32(math.Exp(float64(min(max(x, lowest), highest))))
}
