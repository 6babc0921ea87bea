package terrain

// The rim of heights around a block: one cell for slopes of the finished ground, one more for slopes of the bare one.
const (
	bakeRim  = 2
	bakeSide = blockSide + 2*bakeRim
	// shadeStep is the distance in cells between the points that sunlight is followed from.
	shadeStep = 4
	shadeSide = blockSide/shadeStep + 1
)

// What changes slowly is computed at every fourth cell of a block and its rim, and in between by straight lines.
const (
	slowStep = 4
	slowSide = bakeSide/slowStep + 1
)

// slow is what changes slowly: the lay of the land, the forest's patches and the ground's broad change of colour.
type slow struct {
	lay
	patch, broad float64
}

// baker fills blocks. Each goroutine has its own; all give the same result.
type baker struct {
	world *World
	slows [slowSide * slowSide]slow
	bare  [bakeSide * bakeSide]float64
	trees [bakeSide * bakeSide]float64
	lit   [shadeSide * shadeSide]float64
}

// bakedCells is a block on its way into the map.
type bakedCells struct {
	heights [blockSide * blockSide]uint16
	colours [blockSide * blockSide]uint32
	top     uint16
}

// bake computes the block.
func (c *bakedCells) bake(b *baker, job blockJob) {
	c.top = b.fill(job, c.heights[:], c.colours[:], blockSide)
}

// place puts the block into its level.
func (c *bakedCells) place(key blockKey, into *level) {
	at := key.corner()
	for row := range blockSide {
		copy(into.heights[at+row<<levelBits:][:blockSide], c.heights[row*blockSide:])
		copy(into.colours[at+row<<levelBits:][:blockSide], c.colours[row*blockSide:])
	}
	into.tops[key.slot()] = c.top
}

// bake computes one block and writes it to its level.
func (b *baker) bake(job blockJob, into *level) {
	at := job.key.corner()
	into.tops[job.key.slot()] = b.fill(job, into.heights[at:], into.colours[at:], levelSide)
}

// fill computes one block, writes its rows into heights and colours, stride apart, and answers its highest height. A block depends on
// the world and its key alone.
func (b *baker) fill(job blockJob, heights []uint16, colours []uint32, stride int) (top uint16) {
	spacing := float64(int64(1) << job.level)
	x0, z0 := float64(job.key.x*blockSide), float64(job.key.z*blockSide)
	b.survey(x0, z0, spacing)
	b.raise(x0, z0, spacing)
	b.sunlight(x0, z0, spacing)
	b.plant(x0, z0, spacing)
	for row := range blockSide {
		at := row * stride
		for column := range blockSide {
			height, c := b.cell(x0, z0, row, column, spacing)
			fixed := uint16(float64(height*64) + 0.5)
			heights[at+column], colours[at+column] = fixed, c
			top = max(top, fixed)
		}
	}
	return top
}

// survey computes what changes slowly.
func (b *baker) survey(x0, z0, spacing float64) {
	for row := range slowSide {
		z := float64((z0 + float64(row*slowStep-bakeRim)) * spacing)
		for column := range slowSide {
			x := float64((x0 + float64(column*slowStep-bakeRim)) * spacing)
			b.slows[row*slowSide+column] = slow{lay: b.world.layAt(x, z), patch: b.world.patchAt(x, z), broad: b.world.broadAt(x, z)}
		}
	}
}

// slowAt interpolates at a cell of the block with its rim.
func (b *baker) slowAt(row, column int) slow {
	i := row/slowStep*slowSide + column/slowStep
	s, t := float64(column%slowStep)/slowStep, float64(row%slowStep)/slowStep
	p, q, u, v := &b.slows[i], &b.slows[i+1], &b.slows[i+slowSide], &b.slows[i+slowSide+1]
	between := func(p, q, u, v float64) float64 { return mix(mix(p, q, s), mix(u, v, s), t) }
	return slow{
		lay:   lay{continent: between(p.continent, q.continent, u.continent, v.continent), mask: between(p.mask, q.mask, u.mask, v.mask)},
		patch: between(p.patch, q.patch, u.patch, v.patch), broad: between(p.broad, q.broad, u.broad, v.broad),
	}
}

// raise computes the bare ground.
func (b *baker) raise(x0, z0, spacing float64) {
	for row := range bakeSide {
		z := float64((z0 + float64(row-bakeRim)) * spacing)
		for column := range bakeSide {
			x := float64((x0 + float64(column-bakeRim)) * spacing)
			b.bare[row*bakeSide+column] = b.world.heightOn(b.slowAt(row, column).lay, x, z, spacing)
		}
	}
}

// sunlight follows the sun's direction over the coarse relief from a grid of points: 0 in shadow, 1 in the open.
func (b *baker) sunlight(x0, z0, spacing float64) {
	w := b.world
	coarse := max(float64(spacing*4), 12)
	for row := range shadeSide {
		z := float64((z0 + float64(row*shadeStep)) * spacing)
		for column := range shadeSide {
			x := float64((x0 + float64(column*shadeStep)) * spacing)
			start := max(b.bare[(row*shadeStep+bakeRim)*bakeSide+column*shadeStep+bakeRim], seaLevel) + 1
			open := 1.0
			distance := float64(coarse * 1.5)
			for range 7 {
				ray := start + float64(distance*w.sunRise)
				if ray > w.highest {
					break
				}
				ground := w.relief.height(x+float64(distance*w.sunX), z+float64(distance*w.sunZ), coarse)
				// The sun is not a point: the shadow's edge is as wide as the distance to what casts it.
				open = min(open, smooth(-0.05, 0.03, (ray-ground)/distance))
				if open <= 0 {
					break
				}
				distance = float64(distance * 1.75)
			}
			b.lit[row*shadeSide+column] = open
		}
	}
}

// plant computes the height of trees over the bare ground.
func (b *baker) plant(x0, z0, spacing float64) {
	w := b.world
	for row := 1; row < bakeSide-1; row++ {
		z := float64((z0 + float64(row-bakeRim)) * spacing)
		for column := 1; column < bakeSide-1; column++ {
			i := row*bakeSide + column
			b.trees[i] = 0
			over := b.bare[i] - seaLevel
			if w.look.forest <= 0 || over < 2 || over > w.look.treeLine+40 {
				continue
			}
			x := float64((x0 + float64(column-bakeRim)) * spacing)
			slope := steepness(b.bare[i+1]-b.bare[i-1], b.bare[i+bakeSide]-b.bare[i-bakeSide], spacing)
			b.trees[i] = w.trees(x, z, over, slope, b.slowAt(row, column).patch, spacing)
		}
	}
}

// steepness is rise over run from central differences.
func steepness(dx, dz, spacing float64) float64 {
	scale := 0.5 / spacing
	dx, dz = float64(dx*scale), float64(dz*scale)
	// The larger side and 3/8 of the smaller one come within 7 % of the root of the squares.
	ax, az := max(dx, -dx), max(dz, -dz)
	return max(ax, az) + float64(0.375*min(ax, az))
}

// cell is the finished height and colour of one cell of the block.
func (b *baker) cell(x0, z0 float64, row, column int, spacing float64) (height float64, c uint32) {
	w := b.world
	x, z := float64((x0+float64(column))*spacing), float64((z0+float64(row))*spacing)
	i := (row+bakeRim)*bakeSide + column + bakeRim
	over := b.bare[i] - seaLevel
	if over <= 0 {
		return seaLevel, w.water(-over, b.slowAt(row+bakeRim, column+bakeRim).patch, b.light(row, column)).cell() | cellWater
	}
	top := func(j int) float64 { return max(b.bare[j], seaLevel) + b.trees[j] }
	dx, dz := top(i+1)-top(i-1), top(i+bakeSide)-top(i-bakeSide)
	bareSlope := steepness(b.bare[i+1]-b.bare[i-1], b.bare[i+bakeSide]-b.bare[i-bakeSide], spacing)
	hollow := float64(0.25*(top(i+1)+top(i-1)+top(i+bakeSide)+top(i-bakeSide))) - top(i)
	ground := w.ground(x, z, over, bareSlope, b.trees[i], b.slowAt(row+bakeRim, column+bakeRim).broad, spacing)
	return top(i), w.lit(ground, dx, dz, spacing, hollow, b.light(row, column)).cell()
}

// light interpolates the sunlight of the block's grid.
func (b *baker) light(row, column int) float64 {
	r, c := row/shadeStep, column/shadeStep
	s, t := float64(column%shadeStep)/shadeStep, float64(row%shadeStep)/shadeStep
	i := r*shadeSide + c
	return mix(mix(b.lit[i], b.lit[i+1], s), mix(b.lit[i+shadeSide], b.lit[i+shadeSide+1], s), t)
}
