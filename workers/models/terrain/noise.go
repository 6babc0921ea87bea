package terrain

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

// corners finds the four lattice values around a point and the point's place between them.
func (n *noise) corners(x, z float64) (a, b, c, d, u, v float64) {
	fx, fz := floor(x), floor(z)
	i, j := uint(fx)&(latticeSide-1), uint(fz)&(latticeSide-1)
	row0, row1 := j*latticeSide, (j+1)&(latticeSide-1)*latticeSide
	i1 := (i + 1) & (latticeSide - 1)
	const mask = latticeSide*latticeSide - 1
	return float64(n.lattice[(row0+i)&mask]), float64(n.lattice[(row0+i1)&mask]),
		float64(n.lattice[(row1+i)&mask]), float64(n.lattice[(row1+i1)&mask]), x - float64(fx), z - float64(fz)
}

// fade is the quintic u^3 (6u^2 - 15u + 10).
func fade(u float64) float64 {
	return float64(float64(float64(u*u)*u) * (float64(u*(float64(u*6)-15)) + 10))
}

// at is the noise at a point, -1..1, smooth to the second derivative.
func (n *noise) at(x, z float64) float64 {
	a, b, c, d, u, v := n.corners(x, z)
	su := fade(u)
	top := a + float64((b-a)*su)
	return top + float64((c+float64((d-c)*su)-top)*fade(v))
}

// sloped is the noise at a point with its two slopes.
func (n *noise) sloped(x, z float64) (value, slopeX, slopeZ float64) {
	a, b, c, d, u, v := n.corners(x, z)
	su, sv := fade(u), fade(v)
	hu, hv := float64(u*(u-1)), float64(v*(v-1))
	ab, cd := b-a, d-c
	top := a + float64(ab*su)
	across := c + float64(cd*su) - top
	value = top + float64(across*sv)
	slopeX = float64(float64(30*float64(hu*hu)) * (ab + float64((cd-ab)*sv)))
	slopeZ = float64(float64(30*float64(hv*hv)) * across)
	return value, slopeX, slopeZ
}

// sum adds octaves of noise, each of twice the frequency, turned, and gain times the amplitude of the one before. The result lies
// about in -1..1.
func (n *noise) sum(x, z float64, octaves int, gain float64) float64 {
	total, amplitude, norm := 0.0, 1.0, 0.0
	for range octaves {
		total += float64(n.at(x, z) * amplitude)
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
	fx, fz := floor(x), floor(z)
	i, j := int(fx)&(period-1), int(fz)&(period-1)
	i1, j1 := (i+1)&(period-1), (j+1)&(period-1)
	corner := func(i, j int) float64 {
		return float64(n.lattice[((j+offset)&(latticeSide-1))*latticeSide+(i+offset)&(latticeSide-1)])
	}
	u, v := smooth(0, 1, x-float64(fx)), smooth(0, 1, z-float64(fz))
	return mix(mix(corner(i, j), corner(i1, j), u), mix(corner(i, j1), corner(i1, j1), u), v)
}
