package terrain

// The picture is made in strips of whole columns: stripWidth of them share the cache, and their rows are then turned at once.
const stripWidth = 16

// strip is the work space of one goroutine: the columns of a strip, stride apart, each lane a sum of value x coverage (12 bits x 256).
type strip struct {
	stride int
	sums   []packed
	// wet is how much of a row is mirroring water, 0..65536, and mirror what ground it mirrors (0: none, sky), for the columns that have water.
	wet     []uint32
	mirror  []packed
	marches [stripWidth]march
	spots   [groupSamples]spot
}

func newStrip(height int) *strip {
	// An odd number of cache lines keeps equal rows of neighbouring columns in different sets of the cache.
	stride := height + 8 + (8-height%8)%8
	if stride/8%2 == 0 {
		stride += 8
	}
	size := stripWidth * stride
	return &strip{stride: stride, sums: make([]packed, size), wet: make([]uint32, size), mirror: make([]packed, size)}
}

// columns renders the columns of a strip from x0 on. They walk away from the eye side by side, so that what one has fetched of the map is there for the next.
func (s *scene) columns(x0, width int, work *strip) {
	marches := work.marches[:width]
	for i := range marches {
		s.begin(&marches[i], x0+i, work, i*work.stride)
	}
	v := s.view
	left := width
	for k, l := range s.levels {
		from, to := max(v.starts[k], s.first), v.starts[k+1]
		if from >= to || left == 0 {
			continue
		}
		left -= s.walk(marches, k, l, from, to)
		for i := range marches {
			m := &marches[i]
			// No ground further away can reach over what is drawn.
			if !m.over && min(m.horizon, m.horizon+((m.eye-s.ceiling)*v.inverses[to-1])>>(heightBits+inverseBits-screenBits)) >= m.edge {
				m.over = true
				left--
			}
		}
	}
	for i := range marches {
		m := &marches[i]
		ray := ray{x: x0 + i, dirX: m.rayX, dirZ: m.rayZ, glare: s.glareX[x0+i]}
		s.skyColumn(ray, m.sums, max(m.edge, 0))
		if m.isWet {
			s.mirrorColumn(ray, m, int(max(m.edge, 0)>>screenBits))
		}
	}
}

// begin puts a march at the eye, before the column x, whose rows are at a place of the work space.
func (s *scene) begin(m *march, x int, work *strip, at int) {
	height := s.view.height
	sums := work.sums[at:][:height]
	clear(sums)
	rayX, rayZ := s.rayOf(x)
	*m = march{
		sums: sums, wet: work.wet[at:][:height], mirror: work.mirror[at:][:height], spots: &work.spots, low: &s.air.low,
		eye: s.eye, horizon: s.horizon, x: s.x, z: s.z, rayX: rayX, rayZ: rayZ,
		fogColour: blend(s.air.distant, s.air.glare, s.glareX[x]),
		edge:      int64(height) << screenBits, gloss: uint64(float64(s.world.look.mirror * 256)),
	}
}

// walk takes all marches through the samples of one level, and answers how many came to their end.
func (s *scene) walk(marches []march, k int, l *level, from, to int) (ended int) {
	v := s.view
	for start := from; start < to; start += groupSamples {
		end := min(start+groupSamples, to)
		depths, inverses, fog, mist := v.depths[start:end], v.inverses[start:end], s.air.fog[start:end], s.air.mist[start:end]
		for i := range marches {
			m := &marches[i]
			if m.over {
				continue
			}
			if m.hides(k, l, depths[0], depths[len(depths)-1], inverses[0], inverses[len(inverses)-1]) {
				m.seen = false
				continue
			}
			m.look(k, l, depths, inverses, fog, mist)
			m.group(l, depths, inverses)
			if m.edge <= 0 {
				m.over = true
				ended++
			}
		}
	}
	return ended
}

// rayOf is the direction of column x: its step on the map per depth, with rayBits.
func (s *scene) rayOf(x int) (rayX, rayZ int64) {
	v := s.view
	aside := (float64(x) + 0.5 - float64(float64(v.width)/2)) / v.focal
	rayX = int64(float64((s.sin + float64(s.cos*aside)) * (1 << rayBits)))
	rayZ = int64(float64((s.cos - float64(s.sin*aside)) * (1 << rayBits)))
	return rayX, rayZ
}

// ray is the direction of a column: its number, its step on the map per depth with rayBits, and how much of the sun's light it has.
type ray struct {
	x          int
	dirX, dirZ int64
	glare      uint64
}

// march is one column's walk away from the eye.
type march struct {
	sums   []packed
	wet    []uint32
	mirror []packed
	low    *[256]uint64

	eye, horizon, x, z, rayX, rayZ int64
	fogColour                      packed
	// gloss is how well the water mirrors, 0..256.
	gloss uint64

	// edge is the upper end of what is drawn, with screenBits; last is the colour of the last sample where it was seen.
	edge  int64
	last  packed
	seen  bool
	isWet bool
	// over says that nothing further away is seen.
	over bool
	// upper and lower are the first and last row of the stretch of mirrored ground under way; none where lower < upper.
	upper, lower int64

	// spots are the samples under way.
	spots *[groupSamples]spot
}

// spot is one sample of the map: its height, the row that it is seen in, and the four cells around it.
type spot struct {
	height             int64 // in 1/64 cell with 16 more bits
	y                  int64 // with screenBits
	i00, i01, i10, i11 uint32
	fx, fz             uint32
	fog, mist          uint64
}

const (
	// spotToHeight turns a spot's height into heightBits.
	spotToHeight = 6 + 16 - heightBits
	seaHeight    = int64(seaLevel) << heightBits
)

// groupSamples is how many samples are looked at together: few enough to lie within two blocks either way.
const groupSamples = 8

// hides reports whether all samples between two depths lie behind what is drawn, by the highest ground of the blocks that they touch.
// Skipping them changes no pixel. In a column with water they are needed for what it mirrors, unless they are water themselves.
func (m *march) hides(k int, l *level, near, far, nearInverse, farInverse int64) bool {
	const blocks = blocksSide - 1
	shift := uint(positionBits + k)
	x0, x1 := (m.x+(m.rayX*near)>>(rayBits+depthBits-positionBits))>>shift, (m.x+(m.rayX*far)>>(rayBits+depthBits-positionBits))>>shift
	z0, z1 := (m.z+(m.rayZ*near)>>(rayBits+depthBits-positionBits))>>shift, (m.z+(m.rayZ*far)>>(rayBits+depthBits-positionBits))>>shift
	if x0 > x1 {
		x0, x1 = x1, x0
	}
	if z0 > z1 {
		z0, z1 = z1, z0
	}
	x0, x1, z0, z1 = x0>>blockBits&blocks, (x1+1)>>blockBits&blocks, z0>>blockBits&blocks, (z1+1)>>blockBits&blocks
	roof := max(l.tops[z0*blocksSide+x0], l.tops[z0*blocksSide+x1], l.tops[z1*blocksSide+x0], l.tops[z1*blocksSide+x1])
	if m.isWet {
		if int64(roof) > int64(seaLevel*64)+16 {
			return false
		}
		m.upper, m.lower = 0, -1
	}
	over, inverse := m.eye-int64(roof)<<(heightBits-6), farInverse
	if over < 0 {
		inverse = nearInverse
	}
	return m.horizon+(over*inverse)>>(heightBits+inverseBits-screenBits) >= m.edge
}

// look takes a few samples of the map before any is drawn, so that they wait for its memory together and not one after the other.
func (m *march) look(k int, l *level, depths, inverses []int64, fog, mist []uint64) {
	inverses, fog, mist = inverses[:len(depths)], fog[:len(depths)], mist[:len(depths)]
	shift := uint(positionBits+k) & 63
	x, z, rayX, rayZ, eye, horizon := m.x, m.z, m.rayX, m.rayZ, m.eye, m.horizon
	heights := &l.heights
	for i, depth := range depths {
		px := x + (rayX*depth)>>(rayBits+depthBits-positionBits)
		pz := z + (rayZ*depth)>>(rayBits+depthBits-positionBits)
		cx, cz := uint(px>>shift), uint(pz>>shift)
		fx, fz := (px>>((shift-8)&63))&255, (pz>>((shift-8)&63))&255
		row0, row1 := (cz&levelMask)<<levelBits, ((cz+1)&levelMask)<<levelBits
		c0, c1 := cx&levelMask, (cx+1)&levelMask
		a, b := int64(heights[row0|c0]), int64(heights[row0|c1])
		c, d := int64(heights[row1|c0]), int64(heights[row1|c1])
		top := a<<8 + (b-a)*fx
		height := top<<8 + (c<<8+(d-c)*fx-top)*fz
		at := &m.spots[i&(groupSamples-1)]
		at.height = height
		at.y = horizon + ((eye-height>>spotToHeight)*inverses[i])>>(heightBits+inverseBits-screenBits)
		at.i00, at.i01, at.i10, at.i11 = uint32(row0|c0), uint32(row0|c1), uint32(row1|c0), uint32(row1|c1)
		at.fx, at.fz, at.fog, at.mist = uint32(fx), uint32(fz), fog[i], mist[i]
	}
}

// group walks the samples that look took.
func (m *march) group(l *level, depths, inverses []int64) {
	inverses = inverses[:len(depths)]
	for i, depth := range depths {
		at := &m.spots[i&(groupSamples-1)]
		hidden := at.y >= m.edge
		mirrored := m.isWet && m.mirrors(at.height, inverses[i])
		if hidden {
			m.seen = false
			if !mirrored {
				continue
			}
		}
		if mirrored {
			m.reflect(l, at, inverses[i])
		}
		if hidden {
			continue
		}
		m.draw(l, at, depth)
		if at.y <= 0 {
			return
		}
	}
}

// draw shows a spot in the rows from its own to the edge, which becomes its row.
func (m *march) draw(l *level, at *spot, depth int64) {
	y := max(at.y, 0)
	colour, haze, water := m.shade(l, at)
	m.fill(y, colour)
	if water > 0 {
		m.soak(y, water, haze, m.eye-at.height>>spotToHeight, depth)
	}
	m.last, m.seen, m.edge = colour, true, y
}

// shade is a spot's colour through the air, the weight of the air, and the share of water around the spot; weights are 0..256.
func (m *march) shade(l *level, at *spot) (colour packed, haze, water uint64) {
	colours := &l.colours
	const mask = levelSide*levelSide - 1
	c00, c01, c10, c11 := colours[at.i00&mask], colours[at.i01&mask], colours[at.i10&mask], colours[at.i11&mask]
	// Four weights that sum to 256.
	fx, fz := uint64(at.fx), uint64(at.fz)
	w11 := fx * fz >> 8
	w01, w10 := fx-w11, fz-w11
	w00 := 256 - fx - w10
	colour = (unpackCell(c00)*w00 + unpackCell(c01)*w01 + unpackCell(c10)*w10 + unpackCell(c11)*w11) >> 8 & lanesMask
	haze = at.fog
	if at.mist > 0 {
		over := max((at.height>>spotToHeight-seaHeight)>>(heightBits+2), 0)
		haze += (256 - haze) * (at.mist * m.low[over&255] >> 8) >> 8
	}
	if (c00|c01|c10|c11)&cellWater != 0 {
		water = uint64(c00>>31)*w00 + uint64(c01>>31)*w01 + uint64(c10>>31)*w10 + uint64(c11>>31)*w11
	}
	return blend(colour, m.fogColour, haze), haze, water
}

// fill draws the rows from y up to the edge: from the last sample's colour at the edge to this one's at y.
func (m *march) fill(y int64, colour packed) {
	sums := m.sums
	first, last := y>>screenBits, m.edge>>screenBits
	if first == last {
		sums[first] += colour * uint64(m.edge-y)
		return
	}
	from := colour
	if m.seen {
		from = m.last
	}
	if part := uint64(m.edge & 255); part > 0 {
		sums[last] += from * part
	}
	sums[first] += colour * uint64((first+1)<<screenBits-y)
	count := last - first - 1
	if count <= 0 {
		return
	}
	step := uint64(256<<8) / uint64(count+1)
	weight := step
	for row := last - 1; row > first; row-- {
		sums[row] = blend(from, colour, weight>>8) << 8
		weight += step
	}
}
