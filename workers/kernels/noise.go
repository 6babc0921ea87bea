package kernels

import (
	"math"
	"math/bits"

	"telefuser/workers/gpu"
)

// Noise fills Y, f32 or bf16 and contiguous, with Sigma times normally distributed numbers.
// Element i is a function of Seed, Stream and First + i alone, the same bits on every
// backend. First is a multiple of 4.
type Noise struct {
	Y            Tensor
	Seed, Stream uint64
	First        uint64
	Sigma        float32
}

// Check tells whether the tensors fit.
func (o Noise) Check() error {
	const lenMax = 1 << 38 // of one launch's grid
	if o.Y.Type != F32 && o.Y.Type != BF16 || o.Y.Absent() || !o.Y.contiguous(0) || o.Y.Len() < 1 || o.Y.Len() > lenMax || o.First%4 != 0 {
		return misfit("noise", "y %v of %v, first %d", o.Y.Shape, o.Y.Type, o.First)
	}
	return nil
}

func (o Noise) reference() {
	n := o.Y.Len()
	for i := 0; i < n; i += 4 {
		v := normals(o.Seed, o.Stream, (o.First+uint64(i))/4)
		for j := 0; j < 4 && i+j < n; j++ {
			o.Y.Set(i+j, float64(float32(v[j]*o.Sigma)))
		}
	}
}

func (o Noise) launch(c *CUDA) error {
	const threads = 256
	n := o.Y.Len()
	g := gpu.Grid{X: ((n+3)/4 + threads - 1) / threads, Threads: threads}
	return c.launch("noise", "noise_"+o.Y.Type.String(), g, func(a *gpu.Args) {
		a.Ptr(o.Y.Dev).U64(uint64(n)).U64(o.Seed).U64(o.Stream).U64(o.First).F32(o.Sigma)
	})
}

// normals gives the four numbers of one counter. Every float32 product and sum is rounded
// on its own: the conversions forbid fused operations, as the kernel does.
func normals(seed, stream, counter uint64) [4]float32 {
	w := philox([4]uint32{uint32(counter), uint32(counter >> 32), uint32(stream), uint32(stream >> 32)}, uint32(seed), uint32(seed>>32))
	var v [4]float32
	for j := range 2 {
		r := float32(math.Sqrt(float64(float32(-2 * logUnit(w[2*j]>>8+1)))))
		s, c := sincosTurn(w[2*j+1])
		v[2*j], v[2*j+1] = float32(r*c), float32(r*s)
	}
	return v
}

// philox is the Philox 4x32 generator with ten rounds.
func philox(c [4]uint32, k0, k1 uint32) [4]uint32 {
	for range 10 {
		ph, pl := bits.Mul32(0xD2511F53, c[0])
		qh, ql := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{qh ^ c[1] ^ k0, ql, ph ^ c[3] ^ k1, pl}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return c
}

// horner evaluates a polynomial in z, highest coefficient first.
func horner(z float32, k ...float32) float32 {
	p := k[0]
	for _, c := range k[1:] {
		p = float32(float32(z*p) + c)
	}
	return p
}

// logUnit is the natural logarithm of n / 2^24, n from 1 to 2^24.
func logUnit(n uint32) float32 {
	b := math.Float32bits(float32(n))
	e := int32(b>>23) - 127 - 24
	m := b & 0x7fffff
	x := m | 0x3f800000
	if m > 0x3504f3 {
		e++
		x = m | 0x3f000000
	}
	f := math.Float32frombits(x)
	s := float32(float32(f-1) / float32(f+1))
	z := float32(s * s)
	p := horner(z, 0x1.c71c72p-4, 0x1.24924ap-3, 0x1.99999ap-3, 0x1.555556p-2, 1)
	return float32(float32(float32(e)*0x1.62e43p-1) + float32(float32(2*s)*p))
}

// sincosTurn is sine and cosine of the angle of w / 2^32 turns.
func sincosTurn(w uint32) (s, c float32) {
	octant := w >> 29
	f := float32(float32(w>>5&0xffffff) * 0x1p-24)
	if octant&1 != 0 {
		f = float32(1 - f)
	}
	t := float32(f * 0x1.921fb6p-1)
	z := float32(t * t)
	a := float32(t * horner(z, 0x1.71de3ap-19, -0x1.a01a02p-13, 0x1.111112p-7, -0x1.555556p-3, 1))
	q := horner(z, 0x1.a01a02p-16, -0x1.6c16c2p-10, 0x1.555556p-5, -0.5, 1)
	s, c = a, q
	if octant == 1 || octant == 2 || octant == 5 || octant == 6 {
		s, c = q, a
	}
	if octant >= 4 {
		s = -s
	}
	if octant >= 2 && octant < 6 {
		c = -c
	}
	return s, c
}
