package terrain

// Water is a plane at sea level. What it mirrors is found exactly, in the same walk that draws the ground: seen in the plane, a point
// of the ground at height h over the water appears in the row of a point at -h, and the nearest ground that covers a row is the one
// that the row mirrors. Rows that no ground covers mirror the sky.

// ripplesBits is the size of the square of ripples, which repeats.
const (
	ripplesBits = 7
	ripplesSide = 1 << ripplesBits
)

// newRipples makes the slopes of the water's surface, -128..127.
func newRipples(n *noise) []int8 {
	ripples := make([]int8, ripplesSide*ripplesSide)
	for row := range ripplesSide {
		for column := range ripplesSide {
			x, z := float64(column), float64(row)
			value := n.repeating(x/8, z/4, 32, 3) + float64(0.7*n.repeating(x/4, z/2, 64, 91)) + float64(0.5*n.repeating(x/2, z, 128, 57))
			ripples[row*ripplesSide+column] = int8(clamp(float64(value*80), -127, 127))
		}
	}
	return ripples
}

// waterRows hold what follows from the row of a pixel of water.
type waterRows struct {
	// depth is how far away water in that row is, in cells with depthBits; shift the size of the ripples that can be told apart there;
	// swing how far, in 1/16 rows per unit of slope, ripples move what is mirrored.
	depth []int64
	shift []uint8
	swing []int64
	// gleam is how much light, in 1/256 of the 1/16 steps of luma, a slope adds or takes.
	gleam []int64
}

// prepareWater fills the tables of rows.
func (s *scene) prepareWater(row float64) {
	v := s.view
	over := max(float64(float64(s.eye)/(1<<heightBits))-seaLevel, 1)
	for y := range s.water.depth {
		below := max(float64(y)+0.5-row, 0.5)
		depth := min(float64(v.focal*over)/below, farDepth)
		s.water.depth[y] = int64(float64(depth * (1 << depthBits)))
		s.water.shift[y] = 0
		// A row of pixels spans so many cells.
		for span := depth / below; span > 3 && s.water.shift[y] < 7; span /= 2 {
			s.water.shift[y]++
		}
		s.water.gleam[y] = int64(float64(s.world.look.ripple * (1 - s.world.look.glow) * (70 + float64(120*smooth(1600, 200, depth)))))
		s.water.swing[y] = int64(float64(s.world.look.ripple * (6 + float64(70*over/depth)) * float64(v.height) / 480))
	}
}

// soak notes how much of the rows from y to the edge mirrors: water seen flat mirrors more than water seen from above.
func (m *march) soak(y int64, water, haze uint64, over, depth int64) {
	// The sine of the angle to the water is about over / depth.
	steep := uint64(max(over, 0)<<(depthBits+8)) / uint64(depth<<heightBits)
	shine := uint64(26)
	if steep < 256 {
		flat := 256 - steep
		flat2 := flat * flat >> 8
		shine += 205 * (flat2 * flat2 >> 8) >> 8
	}
	weight := shine * m.gloss >> 8 * water >> 8 * (256 - haze) >> 8
	if weight == 0 {
		return
	}
	if !m.isWet {
		clear(m.wet)
		clear(m.mirror)
		m.isWet, m.upper, m.lower = true, 0, -1
	}
	first, last := y>>screenBits, m.edge>>screenBits
	if first == last {
		m.wet[first] += uint32(weight * uint64(m.edge-y))
		return
	}
	if part := uint64(m.edge & 255); part > 0 {
		m.wet[last] += uint32(weight * part)
	}
	m.wet[first] += uint32(weight * uint64((first+1)<<screenBits-y))
	for row := first + 1; row < last; row++ {
		m.wet[row] = uint32(weight << 8)
	}
}

// mirrors reports whether ground of a height (as a spot has it) at a distance mirrors in rows that mirror nothing yet. Water, and what
// hardly rises over it, ends the stretch of ground under way.
func (m *march) mirrors(height, inverse int64) bool {
	over := height>>spotToHeight - seaHeight
	if over <= 1<<(heightBits-2) {
		m.upper, m.lower = 0, -1
		return false
	}
	base, end := m.mirrorRows(over, inverse)
	return base <= end && (m.lower < m.upper || base < m.upper || end > m.lower)
}

// mirrorRows are the first and last row that mirror the ground between the water and a height over it.
func (m *march) mirrorRows(over, inverse int64) (base, end int64) {
	const toRow = heightBits + inverseBits
	horizon := m.horizon >> screenBits
	base = horizon + ((m.eye-seaHeight)*inverse)>>toRow + 1
	end = horizon + ((m.eye-seaHeight+over)*inverse)>>toRow
	return max(base, 0), min(end, int64(len(m.sums))-1)
}

// reflect notes a spot of the ground in the rows of the water before it that mirror it.
func (m *march) reflect(l *level, at *spot, inverse int64) {
	base, end := m.mirrorRows(at.height>>spotToHeight-seaHeight, inverse)
	colour, _, _ := m.shade(l, at)
	if m.lower < m.upper || end < m.upper-1 {
		m.upper, m.lower = base, base-1
	}
	for row := min(m.upper-1, end); row >= base; row-- {
		m.reflectRow(row, colour)
	}
	for row := m.lower + 1; row <= end; row++ {
		m.reflectRow(row, colour)
	}
	m.upper, m.lower = min(m.upper, base), max(m.lower, end)
}

// reflectRow keeps the nearest ground.
func (m *march) reflectRow(row int64, colour packed) {
	if m.mirror[row] == 0 {
		m.mirror[row] = colour
	}
}

// mirrorColumn adds to the water of a column what it mirrors, moved by ripples. skyEnd is the number of rows that are sky alone.
func (s *scene) mirrorColumn(r ray, m *march, skyEnd int) {
	sums := m.sums
	horizonRow := int(s.horizon >> screenBits)
	rows := s.view.height
	sky := s.skyOf(r)
	for y, weight := range m.wet[:rows] {
		if weight>>8 == 0 {
			continue
		}
		slope := s.rippleAt(r, y)
		moved := y + int(slope*s.water.swing[y]>>11)
		moved = max(min(moved, rows-1), 0)
		mirrored := m.mirror[moved]
		if mirrored == 0 {
			row := min(2*horizonRow-moved, horizonRow-1, rows-1)
			if row >= 0 && row < skyEnd {
				mirrored = sums[row] >> 8 & lanesMask
			} else {
				mirrored = sky.at(row)
			}
		}
		c := blend(sums[y]>>8&lanesMask, mirrored, min(uint64(weight>>8), 256))
		light := int64(c&laneMask) + slope*s.water.gleam[y]>>8
		sums[y] = (c&^laneMask | uint64(min(max(light, 16<<4), 235<<4))) << 8
	}
}

// rippleAt is the slope of the water at a row, from two trains of ripples that cross.
func (s *scene) rippleAt(r ray, y int) int64 {
	depth := s.water.depth[y]
	shift := uint(positionBits) + uint(s.water.shift[y]) - 1
	x := (s.x + (r.dirX*depth)>>(rayBits+depthBits-positionBits)) >> shift
	z := (s.z + (r.dirZ*depth)>>(rayBits+depthBits-positionBits)) >> shift
	const mask = ripplesSide - 1
	first := s.world.ripples[((z+s.time>>1)&mask)<<ripplesBits|((x+s.time)&mask)]
	second := s.world.ripples[((x-s.time>>1)&mask)<<ripplesBits|((z-s.time+41)&mask)]
	return int64(first) + int64(second)
}
