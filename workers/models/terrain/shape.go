package terrain

import "math"

// shape says what form the land has. Lengths are in cells.
type shape struct {
	// land is the mean height of the land over the water, continent the swing of the long waves around it.
	land, continent float64
	// hills and mountains are the amplitudes of the relief where the land is gentle and where it is steep; peaks says how much of the
	// land is steep, -1..1.
	hills, mountains, peaks float64
	// wave is the wavelength of the largest hills, ridge (0..1) how sharp the crests are, erosion how smooth steep slopes become.
	wave, ridge, erosion float64
	// dunes is the height of sand waves, terrace the height of steps cut into the slopes and terraceMix how far they are cut.
	dunes, terrace, terraceMix float64
	// rough is the gain from one octave to the next.
	rough float64
}

// Heights are measured from the bottom of the deepest water.
const (
	seaLevel  = 128.0
	heightMax = 1000.0
)

// relief computes heights. It is the same everywhere and for everybody; nothing in it is stored.
type relief struct {
	shape
	noise *noise
	// originX and originZ move this world to its own part of the noise.
	originX, originZ float64
	// picture, if any, lifts the land before the start by the brightness of the reference image.
	picture *pictureRelief
}

// lay is the part of the relief that changes slowly: the long wave that lifts and lowers the land, -1..1, and how much mountains
// stand out, 0..1.
type lay struct{ continent, mask float64 }

// layAt is the lay of the land at a point in cells.
func (r *relief) layAt(x, z float64) lay {
	x0, z0 := x+r.originX, z+r.originZ
	continent := r.noise.sum(x0/2900, z0/2900, 2, 0.45)
	mask := smooth(-0.35, 0.55, r.noise.at(x0/1700+31.7, z0/1700-12.2)+float64(continent*0.5)+r.peaks)
	return lay{continent: continent, mask: mask}
}

// height is the height of the ground, under water too, at a point in cells, with all detail of wavelengths over 3.5 spacings.
func (r *relief) height(x, z, spacing float64) float64 {
	return r.heightOn(r.layAt(x, z), x, z, spacing)
}

// heightOn is height where the lay is known.
func (r *relief) heightOn(l lay, x, z, spacing float64) float64 {
	x0, z0 := x+r.originX, z+r.originZ
	detail := r.detail(x0/r.wave, z0/r.wave, r.wave/spacing)
	amplitude := mix(r.hills, r.mountains, l.mask)
	over := r.land + float64(l.continent*r.continent) + float64(detail*amplitude) + float64(float64(l.mask*r.mountains)*0.3)
	if r.picture != nil {
		over += r.picture.lift(x, z)
	}
	if r.dunes > 0 {
		over += r.dune(x0, z0, spacing)
	}
	if r.terraceMix > 0 {
		over = mix(over, r.step(over), float64(r.terraceMix*smooth(4, 30, over)))
	}
	return clamp(seaLevel+beach(over), 0, heightMax)
}

// detail is fractal noise whose octaves weigh less where the ground is steep already, as if water had carried them off.
func (r *relief) detail(x, z, wavesOverSpacing float64) float64 {
	total, amplitude, steepX, steepZ := 0.0, 1.0, 0.0, 0.0
	for octave := 0; octave < 10 && wavesOverSpacing > 3.5; octave++ {
		value, slopeX, slopeZ := r.noise.sloped(x, z)
		if octave < 3 && r.ridge > 0 {
			// The crest is rounded. Its slopes count as they are on the way up, for at the crest itself, where they turn, all finer octaves
			// would break loose.
			round := math.Sqrt(float64(value*value) + 0.012)
			value = mix(value, 0.62-float64(2*round), r.ridge)
		}
		steepX += slopeX
		steepZ += slopeZ
		steep := float64(steepX*steepX) + float64(steepZ*steepZ)
		total += float64(amplitude*value) / (1 + float64(r.erosion*steep))
		amplitude = float64(amplitude * r.rough)
		x, z = turnOctave(x, z)
		wavesOverSpacing /= 2
	}
	return total
}

// dune is a train of sand waves that bends with the wind.
func (r *relief) dune(x, z, spacing float64) float64 {
	bend := r.noise.sum(x/420, z/420, 2, 0.5)
	phase := float64(x*0.021) + float64(z*0.009) + float64(bend*4.2)
	wave, _ := sinCos(phase)
	// The crests are rounded, or the grid of the map would cut teeth into them.
	crest := 1.05 - math.Sqrt(float64(wave*wave)+0.05)
	size := smooth(-0.5, 0.6, bend)
	total := float64(float64(r.dunes*size) * float64(crest*crest) * 0.9)
	if spacing < 2 {
		ripple, _ := sinCos(float64(x*0.62) + float64(z*0.31) + float64(bend*50))
		total += float64(float64(ripple*0.14) * smooth(0.1, 0.7, 1-crest))
	}
	return total
}

// step cuts terraces: flat treads with steep risers.
func (r *relief) step(over float64) float64 {
	steps := over / r.terrace
	whole := float64(int64(steps))
	return float64(r.terrace * (whole + smooth(0.55, 0.95, steps-whole)))
}

// beach flattens the land near the water line, above and below it.
func beach(over float64) float64 {
	if over > 20 || over < -20 {
		return over
	}
	return float64(over * mix(0.2, 1, smooth(0, 20, math.Abs(over))))
}
