package terrain

import "math"

// scene is one frame made ready: everything that its columns share. Columns only read it.
type scene struct {
	world  *World
	view   *view
	air    *air
	levels []*level
	// x and z are the eye's place on the map with positionBits, eye its height with heightBits, horizon the row with screenBits.
	x, z, eye, horizon int64
	sin, cos           float64
	// first is the sample where a frame starts, and nearest its depth in cells: nothing nearer can be seen.
	first   int
	nearest float64
	// ceiling is the height that no ground exceeds, with heightBits.
	ceiling int64
	sky     skyRows
	// glareX and glareY are how much of the sun's light lies in a column and in a row, 0..256.
	glareX, glareY []uint64
	sun            disc
	stars          []starPoint
	// clouds are the map's place under the eye, in cells, and the light of the clouds.
	cloudX, cloudZ         float64
	cloudBright, cloudDark packed
	sunLight               packed
	time                   int64
	water                  waterRows
}

// newScene makes the tables of a frame; the world, its air and the map come later.
func newScene(v *view) scene {
	return scene{
		view: v, glareX: make([]uint64, v.width), glareY: make([]uint64, 2*v.height),
		sky: skyRows{
			colours: make([]packed, 2*v.height), reach: make([]int64, 2*v.height), level: make([]uint8, 2*v.height), fade: make([]uint64, 2*v.height),
		},
		water: waterRows{
			depth: make([]int64, v.height), shift: make([]uint8, v.height), swing: make([]int64, v.height), gleam: make([]int64, v.height),
		},
	}
}

// disc is the sun or the moon on the screen, in pixels; a radius of 0 is none.
type disc struct {
	x, y, radius float64
	bright       float64
}

// starPoint is a star on the screen.
type starPoint struct {
	column, row int
	bright      uint64
}

// skyRows hold what follows from the row of a pixel of sky. They begin one height of the picture above it, for water shows sky that is
// out of the picture; row y of the picture is at y + height.
type skyRows struct {
	colours []packed
	// reach is the distance to the clouds per depth, in cells with depthBits; level is the size of the map; fade is 0..256.
	reach []int64
	level []uint8
	fade  []uint64
}

// eyePoint is where a frame is seen from: a place on the map in cells, a height, a direction in radians and a pitch.
type eyePoint struct {
	x, z, height, heading, pitch float64
}

// tiltOf is the shift of the horizon per focal length for a pitch. Beyond a third of a right angle it grows slowly, since a sheared
// picture cannot look straight down.
func tiltOf(pitch float64) float64 {
	const bend = 0.6
	size := max(pitch, -pitch)
	sin, cos := sinCos(min(size, bend))
	tilt := sin/cos + float64(max(size-bend, 0)*0.5)
	if pitch < 0 {
		return -tilt
	}
	return tilt
}

// prepare sets the scene of a frame.
func (s *scene) prepare(eye eyePoint, ticks int64) {
	s.sin, s.cos = sinCos(eye.heading)
	s.x = int64(math.Floor(float64(eye.x*(1<<positionBits)) + 0.5))
	s.z = int64(math.Floor(float64(eye.z*(1<<positionBits)) + 0.5))
	s.eye = int64(float64(eye.height * (1 << heightBits)))
	row := s.view.horizon + float64(s.view.focal*tiltOf(eye.pitch))
	s.horizon = int64(math.Floor(float64(row*(1<<screenBits)) + 0.5))
	s.ceiling = int64(float64(s.world.highest * (1 << heightBits)))
	s.time = ticks * 16 / TicksPerSecond
	s.skipHidden(eye, row)
	s.placeSun(eye, row)
	s.prepareSky(eye, row, ticks)
	s.placeStars(eye, row)
	s.prepareWater(row)
}

// skipHidden finds where the nearest ground comes into the picture, and starts there. It looks at the ground of level 0 only.
func (s *scene) skipHidden(eye eyePoint, row float64) {
	v, w := s.view, s.world
	// Between the points lies ground that may be higher, and on it stand trees.
	const margin, points = 24.0, 5
	highest := 0.0
	for depth := nearDepth; depth < v.borders[1]+20; depth += 36 {
		for i := range points {
			aside := float64(float64(i-points/2) * float64(v.open*depth) / (points / 2))
			x := eye.x + float64(s.sin*depth) + float64(s.cos*aside)
			z := eye.z + float64(s.cos*depth) - float64(s.sin*aside)
			if height := w.height(x, z, 24); height > highest {
				highest = height
			}
		}
	}
	highest += margin + w.look.canopy
	s.first, s.nearest = 0, nearDepth
	bottom := float64(v.height) - row
	if highest >= eye.height || bottom <= 0 {
		return
	}
	hidden := min(float64(float64((eye.height-highest)*v.focal)/bottom), v.borders[1])
	for s.first < v.starts[1] && float64(v.depths[s.first]) < float64(hidden*(1<<depthBits)) {
		s.first++
	}
	s.nearest = max(float64(v.depths[s.first])/(1<<depthBits), nearDepth)
}

// placeSun finds the sun on the screen and spreads its light over columns and rows.
func (s *scene) placeSun(eye eyePoint, row float64) {
	w, v := s.world, s.view
	sin, cos := sinCos(w.sunAzimuth - eye.heading)
	s.sun = disc{}
	x, y := -1e5, row
	if cos > 0.05 {
		x = float64(float64(v.width)/2) + float64(v.focal*(sin/cos))
		y = row - float64(v.focal*(w.sunRise/cos))
		s.sun = disc{x: x, y: y, radius: float64(v.focal * 0.019), bright: w.light.disc}
	}
	spread := float64(v.focal * mix(0.10, 0.34, w.light.glow))
	strength := float64(256 * mix(0.45, 0.85, w.light.glow))
	for i := range s.glareX {
		d := (float64(i) + 0.5 - x) / spread
		s.glareX[i] = uint64(float64(strength * expNegative(float64(d*d))))
	}
	for i := range s.glareY {
		d := float64((float64(i-v.height) + 0.5 - y) / spread)
		s.glareY[i] = uint64(float64(256 * expNegative(float64(d*d)*0.8)))
	}
}

// prepareSky fills the tables of rows.
func (s *scene) prepareSky(eye eyePoint, row float64, ticks int64) {
	v, l := s.view, s.world.light
	// In thick air the sky fades as the land does.
	thick := float64(0.85 * smooth(1.5, 2.6, s.world.look.haze))
	for y := range s.sky.colours {
		rise := (row - float64(y-v.height) - 0.5) / v.focal
		c := l.horizon.mix(l.middle, smooth(0, 0.17, rise))
		c = c.mix(l.zenith, smooth(0.10, 0.62, rise))
		c = c.mix(l.fog, float64(0.75*smooth(0.035, -0.01, rise)))
		c = c.mix(l.fog, float64(thick*smooth(0.55, 0.1, rise)))
		s.sky.colours[y] = c.pack()
		above := max(rise, 0)
		s.sky.reach[y] = int64(float64(cloudHeight / (above + 0.07) * (1 << depthBits)))
		s.sky.fade[y] = uint64(float64(256 * float64(smooth(0.004, 0.085, rise)*(0.96-float64(0.7*thick))) * clamp(float64(y)/32, 0, 1)))
		s.sky.level[y] = 0
		if above < 0.16 {
			s.sky.level[y] = 1
		}
		if above < 0.06 {
			s.sky.level[y] = 2
		}
	}
	// Clouds drift with the wind and lag behind the camera, as things far away do.
	s.cloudX = float64(eye.x*0.6) + float64(float64(ticks)*(3.1*16/TicksPerSecond))
	s.cloudZ = float64(eye.z*0.6) + float64(float64(ticks)*(1.7*16/TicksPerSecond))
	s.cloudBright, s.cloudDark = l.cloudBright.pack(), l.cloudDark.pack()
	s.sunLight = l.glare.scale(1.15).pack()
}

// placeStars finds the stars that are in the picture.
func (s *scene) placeStars(eye eyePoint, row float64) {
	s.stars = s.stars[:0]
	shine := s.world.light.stars
	if shine <= 0.02 {
		return
	}
	v := s.view
	for _, star := range s.world.stars {
		sin, cos := sinCos(star.azimuth - eye.heading)
		if cos < 0.3 {
			continue
		}
		x := float64(float64(v.width)/2) + float64(v.focal*(sin/cos))
		y := row - float64(v.focal*(star.rise/cos))
		if x < 0 || y < 0 || x >= float64(v.width) || y >= float64(v.height) {
			continue
		}
		s.stars = append(s.stars, starPoint{column: int(x), row: int(y), bright: uint64(float64(float64(star.bright) * shine))})
	}
}
