package simd_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"telefuser/workers/kernels/simd"
)

// sizes are those around the lanes of the loops in assembly, and one long row.
var sizes = []int{1, 2, 7, 8, 9, 16, 24, 31, 32, 40, 257, 1000}

// guard is what outputs are surrounded by.
const guard = float32(-12345)

func levels(t *testing.T, f func(t *testing.T, l simd.Level)) {
	t.Helper()
	for _, l := range simd.Levels() {
		t.Run(l.String(), func(t *testing.T) { f(t, l) })
	}
}

func normal(r *rand.Rand, n int, deviation float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64() * deviation)
	}
	return v
}

func halves(v []float32) []uint16 {
	h := make([]uint16, len(v))
	simd.Generic.Narrow(h, v)
	return h
}

func close32(t *testing.T, what string, got []float32, want func(i int) float64, relative float64) {
	t.Helper()
	for i, g := range got {
		w := want(i)
		if d := math.Abs(float64(g) - w); math.IsNaN(float64(g)) || d > relative*math.Abs(w)+1e-30 {
			t.Fatalf("%s of %d: element %d is %v, want %v", what, len(got), i, g, w)
		}
	}
}

// guarded is n elements between guards; check tells whether those are whole.
func guarded(n int) (v []float32, check func(t *testing.T)) {
	all := make([]float32, n+16)
	for i := range all {
		all[i] = guard
	}
	return all[8 : 8+n : 8+n], func(t *testing.T) {
		t.Helper()
		for i := range 8 {
			if all[i] != guard || all[8+n+i] != guard {
				t.Fatalf("%d elements: something beside them was written", n)
			}
		}
	}
}

func TestRoundingIsThatOfTheTypes(t *testing.T) {
	levels(t, func(t *testing.T, l simd.Level) {
		r := rand.New(rand.NewPCG(1, 1))
		for range 200 {
			x := make([]float32, 64)
			for i := range x {
				x[i] = math.Float32frombits(r.Uint32())
			}
			copy(x, []float32{0, float32(math.Copysign(0, -1)), 1.00390625, 1.01171875, float32(math.Inf(1)), math.MaxFloat32, float32(math.NaN()), 1e-42})
			h := make([]uint16, len(x))
			l.Narrow(h, x)
			back := make([]float32, len(x))
			l.Widen(back, h)
			for i, v := range x {
				b := math.Float32bits(v)
				want := uint16((uint64(b) + 0x7fff + uint64(b>>16&1)) >> 16)
				if v != v {
					if back[i] == back[i] {
						t.Fatalf("NaN became %v", back[i])
					}
					continue
				}
				if h[i] != want || math.Float32bits(back[i]) != uint32(h[i])<<16 {
					t.Fatalf("%v (%#x) became %#x and %v, want %#x", v, b, h[i], back[i], want)
				}
			}
		}
	})
}

func TestRowsAgainstFloat64(t *testing.T) {
	levels(t, func(t *testing.T, l simd.Level) {
		for _, n := range sizes {
			r := rand.New(rand.NewPCG(uint64(n), 2))
			x, g, b := normal(r, n, 3), normal(r, n, 1), normal(r, n, 1)
			f := func(v float32) float64 { return float64(v) }

			var sum, squares, size float64
			for _, v := range x {
				sum, squares, size = sum+f(v)-0.5, squares+(f(v)-0.5)*(f(v)-0.5), size+math.Abs(f(v)-0.5)
			}
			s, q := l.Moments(x, 0.5)
			if math.Abs(f(s)-sum) > 1e-6*size || math.Abs(f(q)-squares) > 1e-6*squares {
				t.Fatalf("moments of %d: %v %v, want %v %v", n, s, q, sum, squares)
			}
			top := x[0]
			for _, v := range x {
				top = max(top, v)
			}
			if m := l.Max(x); m != top {
				t.Fatalf("largest of %d is %v, want %v", n, m, top)
			}

			y, whole := guarded(n)
			total := 0.0
			for _, v := range x {
				total += math.Exp(f(v)*0.7 - 2)
			}
			close32(t, "sum of exponentials", []float32{l.ExpSum(y, x, 0.7, 2)}, func(int) float64 { return total }, 1e-6)
			close32(t, "exponential", y, func(i int) float64 { return math.Exp(f(x[i])*0.7 - 2) }, 1e-6)
			whole(t)

			for _, k := range [][2]float64{{1, 0}, {simd.GELUa, simd.GELUb}} {
				y, whole := guarded(n)
				copy(y, x)
				l.Sigmoid(y, float32(k[0]), float32(k[1]))
				close32(t, "sigmoid", y, func(i int) float64 { v := f(x[i]); return v / (1 + math.Exp(-(k[0]*v + k[1]*v*v*v))) }, 4e-6)
				whole(t)
			}

			y, whole = guarded(n)
			l.Affine(y, x, 1.5, -0.25)
			close32(t, "affine", y, func(i int) float64 { return f(float32(f(x[i])*1.5 - 0.25)) }, 3e-6)
			l.MulAdd(y, x, g, b)
			for i := range y {
				if d := math.Abs(f(y[i]) - (f(x[i])*f(g[i]) + f(b[i]))); d > 1e-6*(math.Abs(f(x[i])*f(g[i]))+math.Abs(f(b[i]))) {
					t.Fatalf("product and sum %d of %d: %v", i, n, y[i])
				}
			}
			whole(t)

			w, exact := halves(g), 0.0
			for i := range x {
				exact += f(x[i]) * f(math.Float32frombits(uint32(w[i])<<16))
			}
			if d := l.Dot(x, w); math.Abs(f(d)-exact) > 1e-5*math.Sqrt(float64(n))*4 {
				t.Fatalf("dot of %d: %v, want %v", n, d, exact)
			}
		}
	})
}

func TestExponentialAtItsEnds(t *testing.T) {
	levels(t, func(t *testing.T, l simd.Level) {
		x := []float32{-1e30, -200, -87, -86, -1e-3, 0, 1e-3, 87, 88, 88, 88, 88, 88, 88, 88, 88}
		y := make([]float32, len(x))
		l.ExpSum(y, x, 1, 0)
		if y[0] > 2e-38 || y[1] > 2e-38 {
			t.Errorf("far below: %v %v", y[0], y[1])
		}
		close32(t, "exponential", y[2:], func(i int) float64 { return math.Exp(float64(x[2+i])) }, 1e-6)
		z := []float32{-1e4, -100, -90, 0, 90, 100, 1e4, 1e10}
		l.Sigmoid(z, simd.GELUa, simd.GELUb)
		for i, want := range []float32{0, 0, 0, 0, 90, 100, 1e4, 1e10} {
			if math.Abs(float64(z[i]-want)) > 1e-20*math.Abs(float64(want)) && z[i] != want && !(want == 0 && math.Abs(float64(z[i])) < 1e-30) {
				t.Errorf("gelu %d: %v, want %v", i, z[i], want)
			}
		}
	})
}

func TestRotate(t *testing.T) {
	levels(t, func(t *testing.T, l simd.Level) {
		for _, n := range []int{2, 6, 8, 10, 32, 128} {
			r := rand.New(rand.NewPCG(uint64(n), 3))
			x, table := normal(r, n, 1), normal(r, n, 1)
			y, whole := guarded(n)
			l.Rotate(y, x, table)
			for i := 0; i < n; i += 2 {
				a, b, c, s := float64(x[i]), float64(x[i+1]), float64(table[i]), float64(table[i+1])
				if math.Abs(float64(y[i])-(a*c-b*s)) > 2e-6*(math.Abs(a*c)+math.Abs(b*s)) || math.Abs(float64(y[i+1])-(a*s+b*c)) > 2e-6*(math.Abs(a*s)+math.Abs(b*c)) {
					t.Fatalf("pair %d of %d", i/2, n)
				}
			}
			whole(t)
		}
	})
}

func TestTransposeAndInterleave(t *testing.T) {
	levels(t, func(t *testing.T, l simd.Level) {
		for _, n := range sizes {
			src, dst := make([]uint32, 8*(n+3)), make([]uint32, n*11)
			for i := range src {
				src[i] = uint32(i + 1)
			}
			l.Transpose(dst, 11, src, n+3, n)
			for i, got := range dst {
				want := uint32(0)
				if i%11 < 8 {
					want = uint32(i%11*(n+3) + i/11 + 1)
				}
				if got != want {
					t.Fatalf("transpose of 8 x %d: element %d is %d, want %d", n, i, got, want)
				}
			}
			a, b, both := make([]uint16, n), make([]uint16, n), make([]uint32, n)
			for i := range n {
				a[i], b[i] = uint16(i), uint16(0x8000+i)
			}
			l.Interleave(both, a, b)
			for i, got := range both {
				if got != uint32(i)|uint32(0x8000+i)<<16 {
					t.Fatalf("pair %d of %d is %#x", i, n, got)
				}
			}
		}
	})
}

// tileCase is a tile's memory and what it must hold in the end.
type tileCase struct {
	tile    simd.Tile
	keep    []any
	got     []float32
	want    []float64
	columns int
	ldc     int
}

func newTile(l simd.Level, columns, taps, units, seed int) *tileCase {
	r := rand.New(rand.NewPCG(uint64(seed), 4))
	per := 1
	if l.Pairs() {
		per = 2
	}
	rows, lda, span := l.Rows(), units*4+36, taps*8+units*4
	span = (span + 3) / 4 * 4
	a := normal(r, (rows*lda+span)/4*per, 1)
	b := normal(r, taps*units*columns*per, 1)
	offsets := make([]int, taps)
	for i := range offsets {
		offsets[i] = (taps - 1 - i) * 4 * (1 + seed%2)
	}
	initial := normal(r, columns, 1)
	c := &tileCase{columns: columns, ldc: columns + 5}
	memory := func(v []float32) (unsafe.Pointer, func(i int) float64) {
		if per == 1 {
			c.keep = append(c.keep, v)
			return unsafe.Pointer(&v[0]), func(i int) float64 { return float64(v[i]) }
		}
		h := halves(v)
		c.keep = append(c.keep, h)
		return unsafe.Pointer(&h[0]), func(i int) float64 { return float64(math.Float32frombits(uint32(h[i]) << 16)) }
	}
	pa, fa := memory(a)
	pb, fb := memory(b)
	c.got = make([]float32, rows*c.ldc)
	for i := range c.got {
		c.got[i] = guard
	}
	c.want = make([]float64, rows*columns)
	for i := range rows {
		for j := range columns {
			sum := float64(initial[j])
			for tap := range taps {
				for u := range units {
					for p := range per {
						sum += fa((i*lda+offsets[tap]+4*u)/4*per+p) * fb(((tap*units+u)*columns+j)*per+p)
					}
				}
			}
			c.want[i*columns+j] = sum
		}
	}
	c.keep = append(c.keep, offsets, initial)
	c.tile = simd.Tile{A: pa, LDA: lda, B: pb, C: unsafe.Pointer(&c.got[0]), LDC: c.ldc * 4, Init: unsafe.Pointer(&initial[0]),
		Offsets: unsafe.Pointer(&offsets[0]), Taps: taps, Units: units}
	return c
}

func TestTilesAgainstFloat64(t *testing.T) {
	levels(t, func(t *testing.T, l simd.Level) {
		for _, left := range []int{1, 16, 17, 32, 100} {
			columns := l.Columns(left)
			for _, z := range [][2]int{{1, 1}, {1, 2}, {1, 64}, {3, 5}, {27, 8}, {9, 1}} {
				t.Run(fmt.Sprintf("%d columns, %d taps of %d", columns, z[0], z[1]), func(t *testing.T) {
					c := newTile(l, columns, z[0], z[1], z[0]+z[1])
					l.Run(columns, &c.tile)
					for i, g := range c.got {
						row, j := i/c.ldc, i%c.ldc
						if j >= columns {
							if g != guard {
								t.Fatalf("row %d: something behind the columns was written", row)
							}
							continue
						}
						if w := c.want[row*columns+j]; math.Abs(float64(g)-w) > 1e-5*math.Sqrt(float64(z[0]*z[1])) || g != g {
							t.Fatalf("row %d, column %d: %v, want %v", row, j, g, w)
						}
					}
				})
			}
		}
	})
}

func BenchmarkTile(b *testing.B) {
	for _, l := range simd.Levels() {
		for _, left := range []int{16, 32} {
			columns := l.Columns(left)
			b.Run(fmt.Sprintf("%v/%dx%d", l, l.Rows(), columns), func(b *testing.B) {
				const units = 128
				c := newTile(l, columns, 1, units, 1)
				for b.Loop() {
					l.Run(columns, &c.tile)
				}
				per := 1
				if l.Pairs() {
					per = 2
				}
				b.ReportMetric(float64(2*l.Rows()*columns*units*per)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
