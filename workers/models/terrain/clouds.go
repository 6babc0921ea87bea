package terrain

// The cloud map is a square that repeats, at three sizes: each half the side of the one before.
const (
	cloudBits   = 9
	cloudSide   = 1 << cloudBits
	cloudLevels = 3
	// cloudSpacing is the distance between two of its points in cells, cloudHeight the layer's height over the eye.
	cloudSpacing = 22.0
	cloudHeight  = 1250.0
)

// clouds is a layer of clouds seen from below: in each word, bits 0-8 are how dense it is (0..256), bits 16-24 how bright (0..256).
type clouds struct {
	maps [cloudLevels][]uint32
}

func newClouds(w *World, d *dice) *clouds {
	offset := int(d.next() & (latticeSide - 1))
	density := make([]float64, cloudSide*cloudSide)
	for row := range cloudSide {
		for column := range cloudSide {
			density[row*cloudSide+column] = w.cloudDensity(float64(column)/64, float64(row)/64, offset)
		}
	}
	c := &clouds{}
	c.maps[0] = make([]uint32, cloudSide*cloudSide)
	cover := w.look.clouds
	low := 0.66 - float64(1.12*cover)
	// Clouds are bright where they thin out towards the sun.
	stepX, stepZ := int(float64(5*w.sunX)+8.5)-8, int(float64(5*w.sunZ)+8.5)-8
	for row := range cloudSide {
		for column := range cloudSide {
			here := density[row*cloudSide+column]
			there := density[(row+stepZ)&(cloudSide-1)*cloudSide+(column+stepX)&(cloudSide-1)]
			dense := smooth(low, low+0.38, here)
			bright := clamp(0.66+float64((here-there)*1.9)-float64(0.35*smooth(low+0.2, low+1.1, here)), 0, 1)
			c.maps[0][row*cloudSide+column] = uint32(float64(dense*245)) | uint32(float64(bright*256))<<16
		}
	}
	for i := 1; i < cloudLevels; i++ {
		c.maps[i] = halve(c.maps[i-1], cloudSide>>(i-1))
	}
	return c
}

// cloudDensity is noise that repeats after 8 lattice cells.
func (w *World) cloudDensity(x, z float64, offset int) float64 {
	total, amplitude := 0.0, 1.0
	for octave := range 6 {
		period := min(8<<octave, latticeSide)
		scale := float64(int(1) << octave)
		total += float64(w.noise.repeating(float64(x*scale), float64(z*scale), period, offset+octave*37) * amplitude)
		amplitude *= 0.56
	}
	return total
}

// halve averages two by two.
func halve(from []uint32, side int) []uint32 {
	half := side / 2
	to := make([]uint32, half*half)
	for row := range half {
		for column := range half {
			i := row*2*side + column*2
			// The fields are 9 bits wide with room for the sum of four.
			to[row*half+column] = (from[i] + from[i+1] + from[i+side] + from[i+side+1]) >> 2 & 0x01ff01ff
		}
	}
	return to
}

// star is a point of light: its direction on the map in radians, its rise per cell of distance, and its brightness 0..256.
type star struct {
	azimuth, rise float64
	bright        uint64
}

// starsCount is how many stars stand around the whole sky.
const starsCount = 1800

func newStars(d *dice) []star {
	stars := make([]star, starsCount)
	for i := range stars {
		rise := d.unit()
		stars[i] = star{azimuth: d.between(-3.14159265, 3.14159265), rise: 0.02 + float64(rise*1.4)}
		bright := d.unit()
		stars[i].bright = uint64(float64(40 + float64(216*float64(bright*float64(bright*bright)))))
	}
	return stars
}
