package clip

import (
	"math"

	"telefuser/workers/media"
)

// means and deviations are those of the colours that CLIP was trained on, where black is 0 and white is 1.
func means() [3]float64      { return [3]float64{0.48145466, 0.4578275, 0.40821073} }
func deviations() [3]float64 { return [3]float64{0.26862954, 0.26130258, 0.27577711} }

// look is a picture drawn together or apart to side x side pixels, whatever its own sides are, and normed by colour: [3, side, side]. Each pixel is
// a sum of 4 x 4 by Keys' cubic with -3/4, with half-pixel centres and held edges; those between them are passed over where the picture is larger.
func look(p media.Image, side int) []float32 {
	mean, deviation := means(), deviations()
	columns, rows := taps(p.Width, side), taps(p.Height, side)
	out := make([]float32, 3*side*side)
	for y, row := range rows {
		for x, column := range columns {
			var sum [3]float64
			for j, py := range row.at {
				for i, px := range column.at {
					weight, rgb := row.weight[j]*column.weight[i], p.RGB[3*(py*p.Width+px):][:3]
					for c, v := range rgb {
						sum[c] += weight * float64(v)
					}
				}
			}
			for c, v := range sum {
				out[(c*side+y)*side+x] = float32((v/math.MaxUint8 - mean[c]) / deviation[c])
			}
		}
	}
	return out
}

// tap says which four pixels of a side make one, and their weights.
type tap struct {
	at     [4]int
	weight [4]float64
}

// taps are those of all pixels when a side of so many becomes another.
func taps(from, to int) []tap {
	const a = -0.75
	cubic := func(d float64) float64 { // of a distance
		if d = math.Abs(d); d <= 1 {
			return ((a+2)*d-(a+3))*d*d + 1
		}
		return ((a*d-5*a)*d+8*a)*d - 4*a
	}
	all := make([]tap, to)
	for i := range all {
		centre := (float64(i)+0.5)*float64(from)/float64(to) - 0.5
		first := math.Floor(centre) - 1
		for k := range all[i].at {
			all[i].at[k] = min(max(int(first)+k, 0), from-1)
			all[i].weight[k] = cubic(centre - first - float64(k))
		}
	}
	return all
}

// cut makes patches of a picture [3, side, side]: rows of (channel, row, column), with zeros up to a width.
func cut(picture []float32, side, patch, width int) []float32 {
	n := side / patch
	out := make([]float32, n*n*width)
	for i := range n * n {
		row := out[i*width:]
		for c := range 3 {
			for y := range patch {
				copy(row[(c*patch+y)*patch:][:patch], picture[(c*side+i/n*patch+y)*side+i%n*patch:])
			}
		}
	}
	return out
}
