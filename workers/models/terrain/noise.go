package terrain

import "math"

// latticeSide is the period of the noise in lattice cells; a power of two.
const latticeSide = 256

// noise is value noise over a lattice of random numbers in -1..1 that repeats every latticeSide cells.
type noise struct {
	lattice [latticeSide * latticeSide]float32
}

func newNoise(d *dice) *noise {
	n := &noise{}
	for i := 0; i < len(n.lattice); i += 2 {
		bits := d.next()
		n.lattice[i] = float32(int32(bits)) / (1 << 31)
		n.lattice[i+1] = float32(int32(bits>>32)) / (1 << 31)
	}
	return n
}

// at is the noise at a point with its two slopes. The value lies in -1..1 and is smooth to the first derivative.
func (n *noise) at(x, z float64) (value, slopeX, slopeZ float64) {
	fx, fz := math.Floor(x), math.Floor(z)
	i := uint(int64(fx)) & (latticeSide - 1)
	j := uint(int64(fz)) & (latticeSide - 1)
	u, v := x-fx, z-fz
	i1, j1 := (i+1)&(latticeSide-1), (j+1)&(latticeSide-1)
	a := float64(n.lattice[(j*latticeSide+i)&(latticeSide*latticeSide-1)])
	b := float64(n.lattice[(j*latticeSide+i1)&(latticeSide*latticeSide-1)])
	c := float64(n.lattice[(j1*latticeSide+i)&(latticeSide*latticeSide-1)])
	d := float64(n.lattice[(j1*latticeSide+i1)&(latticeSide*latticeSide-1)])
	// Quintic fade: u^3 (6u^2 - 15u + 10), and its slope 30 u^2 (u-1)^2.
	su := float64(float64(float64(u*u)*u) * (float64(u*(float64(u*6)-15)) + 10))
	sv := float64(float64(float64(v*v)*v) * (float64(v*(float64(v*6)-15)) + 10))
	du := float64(30 * float64(float64(u*(u-1))*float64(u*(u-1))))
	dv := float64(30 * float64(float64(v*(v-1))*float64(v*(v-1))))
	ab, cd := b-a, d-c
	top := a + float64(ab*su)
	bottom := c + float64(cd*su)
	value = top + float64((bottom-top)*sv)
	slopeX = float64(du * (ab + float64((cd-ab)*sv)))
	slopeZ = float64(dv * (bottom - top))
	return value, slopeX, slopeZ
}

// sum adds octaves of noise, each of twice the frequency, turned, and gain times the amplitude of the one before. The result lies
// about in -1..1.
func (n *noise) sum(x, z float64, octaves int, gain float64) float64 {
	total, amplitude, norm := 0.0, 1.0, 0.0
	for range octaves {
		value, _, _ := n.at(x, z)
		total += float64(value * amplitude)
		norm += amplitude
		amplitude = float64(amplitude * gain)
		x, z = turnOctave(x, z)
	}
	return total / norm
}

// turnOctave doubles the frequency and turns by the angle of the 3-4-5 triangle, so that no lattice direction shows.
func turnOctave(x, z float64) (float64, float64) {
	return float64(1.6*x) - float64(1.2*z) + 17.3, float64(1.2*x) + float64(1.6*z) - 9.1
}

// repeating is noise whose lattice repeats every period cells, a power of two up to latticeSide, starting at offset.
func (n *noise) repeating(x, z float64, period, offset int) float64 {
	fx, fz := math.Floor(x), math.Floor(z)
	i, j := int(fx)&(period-1), int(fz)&(period-1)
	i1, j1 := (i+1)&(period-1), (j+1)&(period-1)
	corner := func(i, j int) float64 {
		return float64(n.lattice[((j+offset)&(latticeSide-1))*latticeSide+(i+offset)&(latticeSide-1)])
	}
	u, v := smooth(0, 1, x-fx), smooth(0, 1, z-fz)
	return mix(mix(corner(i, j), corner(i1, j), u), mix(corner(i, j1), corner(i1, j1), u), v)
}
