package terrain

import (
	"fmt"
	"math"

	"telefuser/workers/media"
)

// cellsPerUnit is how many cells of the map one world unit of the camera is.
const cellsPerUnit = 24.0

// WorldConfig chooses a world.
type WorldConfig struct {
	// Prompt and Seed choose the land and, where StylePrompt is empty, its look as well.
	Prompt string
	Seed   int64
	// StylePrompt, where it is not empty, changes colours and light and keeps the land.
	StylePrompt string
	// Image is the reference image, or nil. Picture, where Image is nil, is what an earlier world kept of one: see State.
	Image   *media.Image
	Picture []byte
	// HourOfDay is 0..24, or negative to let the prompt decide.
	HourOfDay float64
}

// World is a landscape without end. It is computed where somebody looks, holds no part of the map itself and is safe for use by
// several goroutines.
type World struct {
	relief
	look  look
	light light
	// heading is the direction of the first view in radians, clockwise from the z axis.
	heading float64
	// sunAzimuth is the sun's direction on the map, (sunX, sunZ) the unit vector to it, sunRise its rise per cell of distance and
	// sunLength the length of the vector (sunX, sunRise, sunZ).
	sunAzimuth, sunX, sunZ, sunRise, sunLength float64
	// highest is a height that no ground exceeds.
	highest float64
	clouds  *clouds
	stars   []star
	ripples []int8
	small   []byte
}

// NewWorld makes the world of a configuration. The same configuration makes the same world everywhere.
func NewWorld(cfg WorldConfig) (*World, error) {
	if math.IsNaN(cfg.HourOfDay) || cfg.HourOfDay > 24 {
		return nil, fmt.Errorf("%w: hour of day %g is not within 0..24", ErrConfig, cfg.HourOfDay)
	}
	small, err := cfg.picture()
	if err != nil {
		return nil, err
	}
	land := newDice(cfg.Prompt, cfg.Seed)
	c := readPrompt(cfg.Prompt, land)
	w := &World{small: small, relief: relief{shape: c.shape, noise: newNoise(land)}}
	var image *picture
	if small != nil {
		image = newPicture(small)
		w.picture = newPictureRelief(image)
	}
	w.highest = w.bound()
	w.chooseStart(land)
	side := w.chooseSun(land)
	w.dress(c.styled(cfg.StylePrompt, cfg.Seed), image, cfg.HourOfDay)
	w.placeSun(side)
	w.clouds = newClouds(w, newDice("clouds", cfg.Seed))
	w.ripples = newRipples(w.noise)
	w.stars = newStars(newDice("stars", cfg.Seed))
	return w, nil
}

// picture is the reference image in the form that a world keeps, or nil where there is none.
func (cfg WorldConfig) picture() ([]byte, error) {
	image := cfg.Image
	switch {
	case image == nil && cfg.Picture == nil:
		return nil, nil
	case image == nil && len(cfg.Picture) == pictureBytes:
		return cfg.Picture, nil
	case image == nil:
		return nil, fmt.Errorf("%w: picture of %d bytes", ErrConfig, len(cfg.Picture))
	case image.Width < 1 || image.Height < 1 || len(image.RGB) != image.Width*image.Height*3:
		return nil, fmt.Errorf("%w: image of %dx%d has %d bytes", ErrConfig, image.Width, image.Height, len(image.RGB))
	}
	return shrinkImage(image), nil
}

// Picture is what the world keeps of its reference image, or nil.
func (w *World) Picture() []byte { return w.small }

// bound is a height that the relief cannot exceed: every octave at its largest at once.
func (w *World) bound() float64 {
	s := w.shape
	largest := max(s.hills, s.mountains) / (1 - s.rough)
	bound := seaLevel + max(s.land, 0) + s.continent + largest + float64(s.mountains*0.3) + s.dunes + s.terrace + 12
	if w.picture != nil {
		bound += pictureLift
	}
	return min(bound, heightMax) + 12
}

// dress gives the land its colours, light and air.
func (w *World) dress(c country, image *picture, hourOfDay float64) {
	w.look = c.look
	if image != nil {
		image.paint(&w.look)
	}
	hour := c.hour
	if hourOfDay >= 0 {
		hour = hourOfDay
	}
	w.light = lightAt(hour).under(w.look)
}

// styled is the country with the look that a style prompt asks for. A style that names no biome bends the look that is there.
func (c country) styled(style string, seed int64) country {
	if style == "" {
		return c
	}
	text := promptText(style)
	other := country{biome: c.biome, hour: -1}
	for _, candidate := range biomes() {
		if anyWord(text, candidate.words) {
			other = readPrompt(style, newDice(style, seed))
			break
		}
	}
	other.bend(text)
	if other.hour < 0 {
		other.hour = c.hour
	}
	return other
}

// chooseSun decides the side that the sun stands on, so that a later change of the hour moves it along the same way.
func (w *World) chooseSun(d *dice) (side float64) {
	if d.unit() < 0.5 {
		return -1
	}
	return 1
}

// placeSun puts the sun where it looks best: low suns into the picture, high ones beside it.
func (w *World) placeSun(side float64) {
	aside := mix(0.16, 1.05, smooth(0.1, 0.34, w.light.elevation))
	w.sunAzimuth = w.heading + float64(side*aside)
	w.sunX, w.sunZ = sinCos(w.sunAzimuth)
	w.sunRise = w.light.elevation
	w.sunLength = math.Sqrt(1 + float64(w.sunRise*w.sunRise))
}

// chooseStart looks at several places and directions and takes the one with the best view: water in front, high land behind it,
// nothing in the way.
func (w *World) chooseStart(d *dice) {
	const places = 28
	best := math.Inf(-1)
	picture := w.picture
	w.picture = nil
	for range places {
		x, z := d.between(-60000, 60000), d.between(-60000, 60000)
		heading := d.between(-math.Pi, math.Pi)
		if score := w.scoreView(x, z, heading); score > best {
			best, w.originX, w.originZ, w.heading = score, x, z, heading
		}
	}
	w.picture = picture
	if picture != nil {
		picture.sin, picture.cos = sinCos(w.heading)
	}
}

// scoreView rates a view by heights at 77 points before it: open country, a skyline that stands out but does not tower, some water.
func (w *World) scoreView(x, z, heading float64) float64 {
	saved := [2]float64{w.originX, w.originZ}
	w.originX, w.originZ = x, z
	defer func() { w.originX, w.originZ = saved[0], saved[1] }()
	sin, cos := sinCos(heading)
	eye := w.cover(0, 0, 170, 0) + 100
	const rows, columns = 11, 7
	wet, open, skyline, wall := 0.0, 0.0, 0.0, 0.0
	for column := range columns {
		highest := -1.0
		for row := range rows {
			depth := 130 + float64(float64(row*row)*30)
			aside := float64(float64(column-columns/2) * (depth * 0.16))
			height := w.height(float64(sin*depth)+float64(cos*aside), float64(cos*depth)-float64(sin*aside), 32)
			slope := (max(height, seaLevel) - eye) / depth
			if slope < highest {
				continue
			}
			highest = slope
			open++
			if depth < 1500 && slope > -0.01 {
				wall++
			}
			if height <= seaLevel {
				wet++
			}
		}
		skyline += highest
	}
	wet, open, skyline, wall = wet/(rows*columns), open/(rows*columns), skyline/columns, wall/(rows*columns)
	score := float64(1.5*smooth(0.2, 0.8, open)) + float64(1.2*smooth(-0.03, 0.09, skyline)) - float64(2*smooth(0.12, 0.3, skyline)) - float64(2.5*smooth(0.02, 0.25, wall))
	if w.land > 40 {
		return score - float64(2*smooth(0, 0.3, wet))
	}
	if w.land < -10 {
		return score + float64(2*smooth(0.1, 0.45, wet)) - float64(2*smooth(0.6, 0.85, wet))
	}
	return score + float64(1.3*smooth(0, 0.2, wet)) - float64(1.3*smooth(0.4, 0.8, wet))
}

// eyeHeight is how high the camera flies over a point of the map, in cells: a smooth cover over the land that no ridge pierces.
func (w *World) eyeHeight(x, z, altitude, up float64) float64 {
	cover := w.cover(x, z, 170, 56)
	eye := min(cover+float64(92*altitude)+up, 4*heightMax)
	floor := w.cover(x, z, 26, 0) + 14 + float64(10*altitude)
	// A soft maximum, so that the flight bends over a ridge and does not break.
	over := floor - eye
	const reach = 30.0
	switch {
	case over > reach:
		return floor
	case over < -reach:
		return eye
	}
	t := over + reach
	return eye + float64(t*t)/(4*reach)
}

// cover is a quadratic B-spline through heights at a grid of the given spacing; with a step, each knot leans towards the highest of
// nine heights around it.
func (w *World) cover(x, z, spacing, step float64) float64 {
	gx, gz := math.Floor(x/spacing+0.5), math.Floor(z/spacing+0.5)
	wx, wz := splineWeights(x/spacing-gx), splineWeights(z/spacing-gz)
	total := 0.0
	for j := range 3 {
		for i := range 3 {
			kx, kz := float64((gx+float64(i-1))*spacing), float64((gz+float64(j-1))*spacing)
			total += float64(float64(wx[i]*wz[j]) * w.knot(kx, kz, step))
		}
	}
	return total
}

func (w *World) knot(x, z, step float64) float64 {
	if step == 0 {
		return max(w.height(x, z, 12), seaLevel)
	}
	sum, highest := 0.0, 0.0
	for j := range 3 {
		for i := range 3 {
			height := max(w.height(x+float64(float64(i-1)*step), z+float64(float64(j-1)*step), 24), seaLevel)
			sum += height
			highest = max(highest, height)
		}
	}
	return mix(sum/9, highest, 0.6)
}

// splineWeights are the weights of three knots at t in -0.5..0.5 from the middle one.
func splineWeights(t float64) [3]float64 {
	a, b := 0.5-t, 0.5+t
	return [3]float64{float64(float64(a*a) * 0.5), 0.75 - float64(t*t), float64(float64(b*b) * 0.5)}
}
