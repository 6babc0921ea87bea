package terrain

// colour is red, green and blue as shown on a screen, 0..1, or light that multiplies such a colour.
type colour [3]float64

func rgb(code uint32) colour {
	return colour{float64(code>>16&255) / 255, float64(code>>8&255) / 255, float64(code&255) / 255}
}

func (c colour) mix(other colour, t float64) colour {
	return colour{mix(c[0], other[0], t), mix(c[1], other[1], t), mix(c[2], other[2], t)}
}

func (c colour) scale(k float64) colour {
	return colour{float64(c[0] * k), float64(c[1] * k), float64(c[2] * k)}
}

func (c colour) times(other colour) colour {
	return colour{float64(c[0] * other[0]), float64(c[1] * other[1]), float64(c[2] * other[2])}
}

func (c colour) add(other colour) colour {
	return colour{c[0] + other[0], c[1] + other[1], c[2] + other[2]}
}

// luma is the BT.709 brightness.
func (c colour) luma() float64 {
	return float64(0.2126*c[0]) + float64(0.7152*c[1]) + float64(0.0722*c[2])
}

// grey moves the colour towards its own brightness.
func (c colour) grey(t float64) colour {
	l := c.luma()
	return c.mix(colour{l, l, l}, t)
}

// shown bends what is brighter than a screen can show.
func (c colour) shown() colour {
	return colour{shownValue(c[0]), shownValue(c[1]), shownValue(c[2])}
}

func shownValue(v float64) float64 {
	const knee = 0.75
	if v > knee {
		over := float64((v - knee) / (1 - knee))
		v = knee + float64((1.15*(1-knee))*(over/(1+over)))
	}
	return clamp(v, 0, 1)
}

// packed is a colour in BT.709 limited range YCbCr, three lanes of 21 bits in one word: luma lowest, then Cb, then Cr, each 12 bits
// with four of them after the point (so 235 is 3760). One multiplication by a weight of at most 256 scales all three lanes.
type packed = uint64

const (
	laneBits  = 21
	laneMask  = 1<<laneBits - 1
	valueBits = 12
	// lanesMask keeps the 12 value bits of each lane.
	lanesMask = (1<<valueBits - 1) | (1<<valueBits-1)<<laneBits | (1<<valueBits-1)<<(2*laneBits)
)

// ycc converts a shown colour to luma and chroma in units of 1/16 of an 8-bit step.
func (c colour) ycc() (y, cb, cr int) {
	luma := c.luma()
	y = int(float64(luma*(219*16)) + 256.5)
	cb = int(float64((c[2]-luma)*(224*16/1.8556)) + 2048.5)
	cr = int(float64((c[0]-luma)*(224*16/1.5748)) + 2048.5)
	return y, cb, cr
}

func (c colour) pack() packed {
	y, cb, cr := c.shown().ycc()
	return packed(y) | packed(cb)<<laneBits | packed(cr)<<(2*laneBits)
}

// blend goes from a to b by weight of 0..256.
func blend(a, b packed, weight uint64) packed {
	return (a*(256-weight) + b*weight) >> 8 & lanesMask
}

// cell colours are kept in 32 bits: luma 11 bits (three after the point), Cb and Cr 10 bits each (two after the point), and the top
// bit for water.
const cellWater = 1 << 31

func (c colour) cell() uint32 {
	y, cb, cr := c.shown().ycc()
	return uint32(y>>1) | uint32(cb>>2)<<11 | uint32(cr>>2)<<21
}

// unpackCell spreads a cell's colour over the lanes.
func unpackCell(c uint32) packed {
	w := uint64(c)
	return w&0x7ff<<1 | w>>11&0x3ff<<(laneBits+2) | w>>21&0x3ff<<(2*laneBits+2)
}
