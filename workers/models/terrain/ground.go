package terrain

import "math"

// trees is the height of the tree tops over a point, 0 where none stands. Far away, single trees melt into
// clumps of the size that can be seen.
func (w *World) trees(x, z, over, slope, patch, spacing float64) float64 {
	k := &w.look
	cover := w.forestCover(over, slope, patch)
	if cover <= 0 {
		return 0
	}
	var crown float64
	if spacing < 4 {
		crown = 0.5 + float64(0.8*w.noise.at(x/6.1+5.5, z/6.1)) + float64(0.45*w.noise.at(x/2.9, z/2.9+8.5))
	} else {
		size := float64(3.4 * spacing)
		crown = 0.5 + float64(0.9*w.noise.at(x/size+5.5, z/size))
	}
	crown = clamp(crown, 0, 1.2)
	return float64(float64(k.canopy*min(1, float64(k.forest*2))) * float64(smooth(0.1, 0.7, cover)*crown))
}

// patchAt and broadAt are the slow changes of the forest and of the ground's colour, -1..1.
func (w *World) patchAt(x, z float64) float64 { return w.noise.sum(x/310+3.3, z/310-7.7, 3, 0.55) }
func (w *World) broadAt(x, z float64) float64 { return w.noise.sum(x/170+11, z/170+2, 2, 0.5) }

// grain is the quick change of the ground's colour: two sizes of spots, -1..1, of which far levels keep coarser ones.
func (w *World) grain(x, z, spacing float64) (fine, grain float64) {
	size := 9.3
	if spacing > 2 {
		size = float64(spacing * 4)
	}
	fine = w.noise.at(x/size, z/size)
	if spacing < 2 {
		grain = w.noise.at(x/2.3+40, z/2.3)
	}
	return fine, grain
}

// forestCover is how densely trees stand, 0..1.
func (w *World) forestCover(over, slope, patch float64) float64 {
	k := &w.look
	cover := smooth(-0.12, 0.12, patch+float64((k.forest-0.5)*1.1))
	cover = float64(cover * smooth(3, 9, over))
	cover = float64(cover * (1 - smooth(k.treeLine, k.treeLine+40, over+float64(patch*30))))
	return float64(cover * (1 - smooth(0.75, 1.05, slope)))
}

// ground is the unlit colour of dry land.
func (w *World) ground(x, z, over, slope, trees, broad, spacing float64) colour {
	k := &w.look
	fine, grain := w.grain(x, z, spacing)
	c := k.grass.mix(k.dry, smooth(-0.35, 0.5, broad+float64(fine*0.25)))
	if soil := smooth(0.32, 0.62, slope+float64(broad*0.12)+float64(fine*0.1)); soil > 0 {
		c = c.mix(k.soil, float64(0.75*soil))
	}
	if trees > 0 {
		shade := 0.72 + float64(0.5*smooth(0, k.canopy+0.1, trees))
		crown := k.lush.mix(k.grass, clamp(0.15+float64(fine*0.35)+float64(broad*0.2), 0, 0.6)).scale(shade)
		c = c.mix(crown, smooth(0, float64(k.canopy*0.25), trees))
	}
	if bare := w.bareRock(over, slope, broad, fine); bare > 0 {
		c = c.mix(w.rock(over, broad, fine), bare)
	}
	if low := smooth(3.8, 1.2, over+float64(broad*1.8)); low > 0 {
		c = c.mix(k.shore, float64(low*smooth(0.5, 0.25, slope)))
	}
	if high := smooth(k.snowLine-26, k.snowLine+26, over+float64(broad*46)+float64(fine*10)); high > 0 {
		c = c.mix(k.snow, float64(high*smooth(1.15, 0.7, slope+float64(fine*0.12))))
	}
	return c.scale(1 + float64(0.10*fine) + float64(0.07*grain))
}

// bareRock is how much rock shows: on steep ground, and above the trees.
func (w *World) bareRock(over, slope, broad, fine float64) float64 {
	steep := smooth(0.5, 0.9, slope+float64(broad*0.16)+float64(fine*0.14))
	high := float64(0.75 * smooth(w.look.treeLine+10, w.look.treeLine+120, over+float64(broad*50)))
	if high > 0 {
		high = float64(high * smooth(0.12, 0.5, slope+float64(fine*0.2)))
	}
	if high > steep {
		return high
	}
	return steep
}

// rock is banded stone.
func (w *World) rock(over, broad, fine float64) colour {
	k := &w.look
	band, _ := sinCos(float64(over*0.21) + float64(broad*2.6))
	thin, _ := sinCos(float64(over*0.83) + float64(broad*5.1))
	t := 0.5 + float64(0.35*fine) + float64(k.strata*(float64(0.34*band)+float64(0.22*thin)))
	return k.rockDark.mix(k.rock, clamp(t, 0, 1.25))
}

// water is the colour of the water itself; what it mirrors is added when it is seen.
func (w *World) water(depth, patch, open float64) colour {
	k := &w.look
	c := k.shallow.mix(k.deep, smooth(0, 34, depth+float64(patch*5)))
	c = c.mix(k.shore, float64(0.75*smooth(3.2, 0, depth)))
	light := w.light.ambient.scale(0.8).add(w.light.sun.scale(float64(0.55 * open)))
	lit := c.times(light)
	if k.glow == 0 {
		return lit
	}
	crust := smooth(-0.1, 0.25, patch)
	hot := c.mix(colour{0.12, 0.05, 0.04}, float64(crust*0.85))
	return lit.mix(hot, k.glow)
}

// lit lays sun and sky on a colour. dx and dz are the rises over two spacings, hollow how far the point lies under its neighbours.
func (w *World) lit(c colour, dx, dz, spacing, hollow, open float64) colour {
	scale := float64(0.5/spacing) * w.steepen(spacing)
	nx, nz := float64(-dx*scale), float64(-dz*scale)
	length := math.Sqrt(float64(nx*nx) + float64(nz*nz) + 1)
	toSun := (float64(nx*w.sunX) + float64(nz*w.sunZ) + w.sunRise) / float64(length*w.sunLength)
	shine := float64(max(toSun, 0) * open)
	// The sky lights what looks up, and hollows see less of it.
	up := 0.55 + 0.45/length
	deep := clamp(1-float64(hollow*(0.55/spacing)), 0.6, 1.25)
	light := w.light.ambient.scale(float64(up * deep)).add(w.light.sun.scale(shine))
	return c.times(light)
}

// steepen makes up for the relief that coarse levels have lost.
func (w *World) steepen(spacing float64) float64 { return 1 + float64(0.06*min(spacing, 8)) }
