package terrain

// The picture is made in strips of whole columns: stripWidth of them share the cache, and their rows are then turned at once.
const stripWidth = 16

// strip is the work space of one goroutine: the columns of a strip, each lane a sum of value x coverage (12 bits x 256), and for
// every pixel how much of it is mirroring water, 0..65536.
type strip struct {
	stride int
	sums   []packed
	wet    []uint32
	// ripple is the row's displacement of what the water mirrors, in 1/256 of the distance to the shore.
	touched bool
}

func newStrip(height int) *strip {
	// An odd number of cache lines keeps equal rows of neighbouring columns in different sets of the cache.
	stride := height + 8 + (8-height%8)%8
	if stride/8%2 == 0 {
		stride += 8
	}
	return &strip{stride: stride, sums: make([]packed, stripWidth*stride), wet: make([]uint32, stride)}
}

// column renders column x of the picture.
func (s *scene) column(x int, work *strip, sums []packed) {
	clear(sums)
	work.touched = false
	v := s.view
	aside := (float64(x) + 0.5 - float64(v.width)/2) / v.focal
	rayX := int64(float64((s.sin + float64(s.cos*aside)) * (1 << rayBits)))
	rayZ := int64(float64((s.cos - float64(s.sin*aside)) * (1 << rayBits)))
	glare := s.glareX[x]
	m := march{
		sums: sums, wet: work.wet, low: &s.air.low,
		eye: s.eye, horizon: s.horizon, x: s.x, z: s.z, rayX: rayX, rayZ: rayZ, time: s.time,
		fogColour: blend(s.air.distant, s.air.glare, glare),
		edge:      int64(v.height) << screenBits, mirror: uint64(float64(s.world.look.mirror * 256)),
	}
	m.lowest = m.edge
	for k, l := range s.levels {
		from, to := max(v.starts[k], s.first), v.starts[k+1]
		if from >= to {
			continue
		}
		m.level(k, l, v.depths[from:to], v.inverses[from:to], s.air.fog[from:to], s.air.mist[from:to])
		if m.edge <= 0 {
			break
		}
		// No ground behind can reach over what is drawn.
		if m.horizon+((m.eye-s.ceiling)*v.inverses[to-1])>>(heightBits+inverseBits-screenBits) >= m.edge && s.eye < s.ceiling {
			if m.horizon >= m.edge {
				break
			}
		}
	}
	if m.edge > 0 {
		s.skyColumn(x, sums, m.edge, aside, rayX, rayZ, glare)
	}
	if m.isWet {
		s.mirrorColumn(sums, work.wet, x)
	}
}

// march is one column's walk away from the eye.
type march struct {
	sums []packed
	wet  []uint32
	low  *[256]uint64

	eye, horizon, x, z, rayX, rayZ, time int64
	fogColour                            packed
	mirror                               uint64

	// edge is the upper end of what is drawn, lowest that of the last sample, seen or not; both with screenBits.
	edge, lowest int64
	// last is the colour of the last sample where it was seen.
	last  packed
	seen  bool
	isWet bool
}

// level walks the samples of one level.
func (m *march) level(k int, l *level, depths, inverses []int64, fog, mist []uint64) {
	inverses, fog, mist = inverses[:len(depths)], fog[:len(depths)], mist[:len(depths)]
	eye, horizon, edge := m.eye, m.horizon, m.edge
	shift := uint(positionBits + k)
	for i, depth := range depths {
		px := m.x + (m.rayX*depth)>>(rayBits+depthBits-positionBits)
		pz := m.z + (m.rayZ*depth)>>(rayBits+depthBits-positionBits)
		cx, cz := uint(px>>shift), uint(pz>>shift)
		fx, fz := (px>>(shift-8))&255, (pz>>(shift-8))&255
		row0, row1 := (cz&levelMask)<<levelBits, ((cz+1)&levelMask)<<levelBits
		c0, c1 := cx&levelMask, (cx+1)&levelMask
		a, b := int64(l.heights[row0|c0]), int64(l.heights[row0|c1])
		c, d := int64(l.heights[row1|c0]), int64(l.heights[row1|c1])
		top := a<<8 + (b-a)*fx
		height := top<<8 + (c<<8+(d-c)*fx-top)*fz
		// Heights are in 1/64 cell with 16 more bits by now.
		y := horizon + ((eye-height>>(6+16-heightBits))*inverses[i])>>(heightBits+inverseBits-screenBits)
		if y >= edge {
			m.lowest, m.seen = y, false
			continue
		}
		w00, w01, w10, w11 := l.colours[row0|c0], l.colours[row0|c1], l.colours[row1|c0], l.colours[row1|c1]
		colour := blend(blend(unpackCell(w00), unpackCell(w01), uint64(fx)), blend(unpackCell(w10), unpackCell(w11), uint64(fx)), uint64(fz))
		water := uint64(0)
		if (w00|w01|w10|w11)&cellWater != 0 {
			water = wetness(w00, w01, w10, w11, uint64(fx), uint64(fz))
		}
		haze := fog[i]
		if mist[i] > 0 {
			over := max(height>>(6+16+2)-int64(seaLevel)/4, 0)
			haze += (256 - haze) * (mist[i] * m.low[over&255] >> 8) >> 8
		}
		colour = blend(colour, m.fogColour, haze)
		m.fill(max(y, 0), colour)
		if water > 0 {
			m.soak(max(y, 0), edge, water, haze, m.eye-height>>(6+16-heightBits), depth)
		}
		m.last, m.seen, m.lowest, edge = colour, true, y, y
		m.edge = y
		if y <= 0 {
			return
		}
	}
}

// wetness is the share of water between four cells, 0..256.
func wetness(w00, w01, w10, w11 uint32, fx, fz uint64) uint64 {
	a, b, c, d := uint64(w00>>31), uint64(w01>>31), uint64(w10>>31), uint64(w11>>31)
	top := a*(256-fx) + b*fx
	bottom := c*(256-fx) + d*fx
	return (top*(256-fz) + bottom*fz) >> 8
}

// fill draws the rows from y up to the edge: from the last sample's colour at its own row to this one's at y.
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

// soak notes how much of the rows from y to the edge mirrors: water seen flat mirrors more than water seen from above.
func (m *march) soak(y, edge int64, water, haze uint64, over, depth int64) {
	// The sine of the angle to the water is about over / depth.
	steep := uint64(max(over, 0)<<(depthBits+8)) / uint64(depth<<heightBits)
	mirror := uint64(26)
	if steep < 256 {
		flat := 256 - steep
		flat2 := flat * flat >> 8
		mirror += 215 * (flat2 * flat2 >> 8) >> 8
	}
	weight := mirror * m.mirror >> 8 * water >> 8 * (256 - haze) >> 8
	if weight == 0 {
		return
	}
	if !m.isWet {
		clear(m.wet)
		m.isWet = true
	}
	first, last := y>>screenBits, edge>>screenBits
	if first == last {
		m.wet[first] += uint32(weight * uint64(edge-y))
		return
	}
	if part := uint64(edge & 255); part > 0 {
		m.wet[last] += uint32(weight * part)
	}
	m.wet[first] += uint32(weight * uint64((first+1)<<screenBits-y))
	for row := first + 1; row < last; row++ {
		m.wet[row] = uint32(weight << 8)
	}
}

// mirrorColumn adds what the water mirrors: each stretch of water shows the column above its far shore, upside down.
func (s *scene) mirrorColumn(sums []packed, wet []uint32, x int) {
	height := s.view.height
	ripple := s.world.look.ripple
	swing := int64(float64(ripple * 90))
	shore := -1
	for y := range height {
		weight := uint64(wet[y]) >> 8
		if weight == 0 {
			shore = -1
			continue
		}
		if shore < 0 {
			shore = y
		}
		below := int64(y - shore)
		wave := s.wave(x, y)
		from := int64(shore) - 1 - below + below*wave*swing>>16
		from = max(min(from, int64(shore)-1), 0)
		sums[y] = blend(sums[y]>>8&lanesMask, sums[from]>>8&lanesMask, min(weight, 256)) << 8
	}
}

// wave is the slope of the water's ripples at a pixel, -256..256.
func (s *scene) wave(x, y int) int64 { return 0 }
