package terrain

import "math"

// A level is a square of the map around the camera at one spacing: 1 cell at level 0, 2 at level 1 and so on. Its rows and columns
// wrap around, so that a moving camera overwrites what lies behind it. It is filled block by block, only where a frame looks.
const (
	levelBits  = 10
	levelSide  = 1 << levelBits
	levelMask  = levelSide - 1
	blockBits  = 5
	blockSide  = 1 << blockBits
	blocksSide = levelSide / blockSide
	levelsMax  = 6
)

type level struct {
	// heights are in 1/64 cell, colours as colour.cell makes them.
	heights [levelSide * levelSide]uint16
	colours [levelSide * levelSide]uint32
	// tops are the highest heights of the blocks.
	tops [blocksSide * blocksSide]uint16
}

// blockKey names a block of a level: its column and row in the world, in blocks, and whether it holds anything.
type blockKey struct {
	x, z int64
	look int32
	full bool
}

// blockJob is one block to bake.
type blockJob struct {
	level int
	key   blockKey
}

func (k blockKey) slot() int {
	return int(uint64(k.z)%blocksSide)*blocksSide + int(uint64(k.x)%blocksSide)
}

// corner is the first cell of the block's place in a level.
func (k blockKey) corner() int {
	return int(uint64(k.z)%blocksSide)*blockSide<<levelBits + int(uint64(k.x)%blocksSide)*blockSide
}

// wedge is what a frame sees from above: a point, the direction of its middle, and how wide it opens to each side per depth.
type wedge struct {
	x, z, sin, cos, open float64
}

// blocks visits the blocks of level k that the wedge touches between the depths near and far (cells), by column and row in the world.
func (w wedge) blocks(k int, near, far float64, visit func(x, z int64)) {
	spacing := float64(int64(1) << k)
	size := float64(blockSide * spacing)
	// Half of a block's diagonal and two cells for the samples beside a point.
	radius := float64(size*0.7072) + float64(2*spacing)
	minX, maxX, minZ, maxZ := w.bounds(near, far)
	for bz := int64(math.Floor((minZ - radius) / size)); float64(float64(bz)*size) < maxZ+radius; bz++ {
		for bx := int64(math.Floor((minX - radius) / size)); float64(float64(bx)*size) < maxX+radius; bx++ {
			x, z := float64((float64(bx)+0.5)*size), float64((float64(bz)+0.5)*size)
			if w.touches(x, z, radius, near, far) {
				visit(bx, bz)
			}
		}
	}
}

// bounds is the box around the part of the wedge between two depths.
func (w wedge) bounds(near, far float64) (minX, maxX, minZ, maxZ float64) {
	minX, minZ = math.Inf(1), math.Inf(1)
	maxX, maxZ = math.Inf(-1), math.Inf(-1)
	for _, depth := range []float64{near, far} {
		for _, side := range []float64{-1, 1} {
			aside := float64(float64(side*w.open) * depth)
			x := w.x + float64(w.sin*depth) + float64(w.cos*aside)
			z := w.z + float64(w.cos*depth) - float64(w.sin*aside)
			minX, maxX, minZ, maxZ = min(minX, x), max(maxX, x), min(minZ, z), max(maxZ, z)
		}
	}
	return minX, maxX, minZ, maxZ
}

// touches reports whether a disc may reach into the wedge between two depths.
func (w wedge) touches(x, z, radius, near, far float64) bool {
	x, z = x-w.x, z-w.z
	depth := float64(x*w.sin) + float64(z*w.cos)
	aside := float64(x*w.cos) - float64(z*w.sin)
	if depth+radius < near || depth-radius > far {
		return false
	}
	return max(aside, -aside)-radius <= float64(w.open*(depth+radius))
}
