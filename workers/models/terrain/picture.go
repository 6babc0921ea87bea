package terrain

import (
	"sort"

	"telefuser/workers/media"
)

// The grid that a reference image is read at.
const (
	pictureColumns = 48
	pictureRows    = 32
)

// picture is what the renderer keeps of a reference image: its mean colours in a coarse grid, rows from the top.
type picture struct {
	cells [pictureRows][pictureColumns]colour
}

// pictureBytes is the length of a picture's own form: three bytes a cell.
const pictureBytes = pictureRows * pictureColumns * 3

// shrinkImage averages at most 16 points in each grid cell, so that the cost does not depend on the size of the image.
func shrinkImage(image *media.Image) []byte {
	small := make([]byte, 0, pictureBytes)
	for row := range pictureRows {
		for column := range pictureColumns {
			var sum [3]int
			for i := range 16 {
				x := (column*4 + i%4) * image.Width / (pictureColumns * 4)
				y := (row*4 + i/4) * image.Height / (pictureRows * 4)
				at := (y*image.Width + x) * 3
				for channel := range sum {
					sum[channel] += int(image.RGB[at+channel])
				}
			}
			for _, total := range sum {
				small = append(small, byte((total+8)/16))
			}
		}
	}
	return small
}

func newPicture(small []byte) *picture {
	p := &picture{}
	for i, value := range small {
		p.cells[i/3/pictureColumns][i/3%pictureColumns][i%3] = float64(value) / 255
	}
	return p
}

// ramp answers n colours of the rows from first to last, from dark to bright, each the mean of an equal share.
func (p *picture) ramp(first, last, n int) []colour {
	var all []colour
	for row := first; row < last; row++ {
		all = append(all, p.cells[row][:]...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].luma() < all[j].luma() })
	result := make([]colour, n)
	for i := range result {
		from, to := i*len(all)/n, (i+1)*len(all)/n
		for _, c := range all[from:to] {
			result[i] = result[i].add(c)
		}
		result[i] = result[i].scale(1 / float64(to-from))
	}
	return result
}

// paint gives a look the image's colours: the ground those of the lower part, the sky those of the upper.
func (p *picture) paint(k *look) {
	ground := p.ramp(pictureRows*2/5, pictureRows, 6)
	brightness := 0.0
	for _, c := range ground {
		brightness += c.luma() / 6
	}
	// The image is lit already and the land will be lit again, so a dark image is made lighter first.
	for i := range ground {
		ground[i] = ground[i].scale(clamp(0.44/(brightness+0.02), 1, 1.8))
	}
	sky := p.ramp(0, pictureRows*2/5, 3)
	k.rockDark, k.lush, k.soil, k.grass, k.dry, k.shore = ground[0], ground[1], ground[2], ground[3], ground[4], ground[5]
	k.rock = ground[1].mix(ground[3], 0.5)
	k.snow = ground[5].mix(colour{1, 1, 1}, 0.35)
	k.deep = ground[0].mix(sky[1], 0.5).scale(0.7)
	k.shallow = ground[2].mix(sky[2], 0.5)
	k.skyZenith, k.skyHorizon, k.skyPicture = p.ramp(0, pictureRows/5, 3)[1], p.ramp(pictureRows/5, pictureRows*2/5, 3)[2], sky[2]
	k.picture = true
}

// pictureRelief lays the image flat on the ground before the start, its lower edge nearest, and lifts the ground by its brightness.
type pictureRelief struct {
	// sin and cos turn the world to the flight's first heading, startX and startZ are where it starts, in cells.
	sin, cos, startX, startZ float64
	lifts                    [pictureRows][pictureColumns]float64
}

// The ground that the image covers and how high white lies over black, all in cells.
const (
	pictureNear  = 150.0
	pictureDepth = 1900.0
	pictureWidth = 1900.0
	pictureLift  = 260.0
)

func newPictureRelief(p *picture) *pictureRelief {
	r := &pictureRelief{cos: 1}
	low, high := 1.0, 0.0
	for _, row := range p.cells {
		for _, c := range row {
			low, high = min(low, c.luma()), max(high, c.luma())
		}
	}
	span := max(high-low, 0.05)
	for row := range p.cells {
		for column, c := range p.cells[row] {
			r.lifts[row][column] = (c.luma()-low)/span - 0.45
		}
	}
	return r
}

// lift is how much higher the ground is at a point in cells; it fades out towards the borders of the image.
func (r *pictureRelief) lift(x, z float64) float64 {
	x, z = x-r.startX, z-r.startZ
	ahead := float64(x*r.sin) + float64(z*r.cos)
	aside := float64(x*r.cos) - float64(z*r.sin)
	u := float64((aside/pictureWidth + 0.5) * (pictureColumns - 1))
	v := float64((1 - (ahead-pictureNear)/pictureDepth) * (pictureRows - 1))
	if u <= 0 || v <= 0 || u >= pictureColumns-1 || v >= pictureRows-1 {
		return 0
	}
	column, row := int(u), int(v)
	s, t := smooth(0, 1, u-float64(column)), smooth(0, 1, v-float64(row))
	top := mix(r.lifts[row][column], r.lifts[row][column+1], s)
	bottom := mix(r.lifts[row+1][column], r.lifts[row+1][column+1], s)
	edge := float64(smooth(0, 5, u)*smooth(0, 5, pictureColumns-1-u)) * float64(smooth(0, 4, v)*smooth(0, 6, pictureRows-1-v))
	return float64(float64(pictureLift*edge) * mix(top, bottom, t))
}
