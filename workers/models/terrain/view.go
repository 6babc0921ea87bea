package terrain

import "fmt"

// Limits of a picture, in pixels.
const (
	SideMin   = 64
	SideMax   = 1920
	PixelsMax = 1920 * 1088
)

// The ground is sampled from nearDepth to farDepth, in cells.
const (
	nearDepth = 10.0
	farDepth  = 6400.0
)

// Fixed-point scales of the renderer, as numbers of bits after the point.
const (
	positionBits = 16 // map positions, in cells
	depthBits    = 8  // depths, in cells
	rayBits      = 20 // directions, in cells per cell of depth
	heightBits   = 14 // interpolated heights, in cells
	inverseBits  = 20 // focal length over depth, in pixels per cell
	screenBits   = 8  // rows of the picture, in pixels
)

// view holds what follows from the size of the picture alone.
type view struct {
	width, height int
	// focal is the focal length in pixels, horizon the row of the horizon at pitch 0.
	focal, horizon float64
	// open is half the width of the picture at depth 1.
	open float64
	// depths and inverses are the samples of every column: depth, and focal length over depth.
	depths, inverses []int64
	// starts are the first samples of the levels, with the number of samples at the end; borders are the depths of the same, in cells.
	starts  []int
	borders []float64
}

func newView(width, height int) (*view, error) {
	switch {
	case width < SideMin || height < SideMin || width > SideMax || height > SideMax || width*height > PixelsMax:
		return nil, fmt.Errorf("%w: size %dx%d", ErrConfig, width, height)
	case width%2+height%2 != 0:
		return nil, fmt.Errorf("%w: size %dx%d is not even", ErrConfig, width, height)
	}
	v := &view{width: width, height: height, focal: max(float64(width), float64(float64(height)*0.75))}
	v.horizon = float64(float64(height) * 0.42)
	v.open = float64(width) / (2 * v.focal)
	v.placeSamples()
	return v, nil
}

// placeSamples spaces the samples so that flat ground below the eye gets one every few rows, and no step is wider than 3.4
// cells of its level.
func (v *view) placeSamples() {
	growth := clamp(8/float64(v.height), 0.004, 0.02)
	reach := clamp(float64(v.focal*0.45), 200, 640)
	depth := nearDepth
	for k := 0; k < levelsMax && depth < farDepth; k++ {
		spacing := float64(int(1) << k)
		border := min(float64(reach*spacing), farDepth)
		v.starts = append(v.starts, len(v.depths))
		v.borders = append(v.borders, depth)
		for depth < border {
			v.depths = append(v.depths, int64(float64(depth*(1<<depthBits))))
			v.inverses = append(v.inverses, int64(float64(v.focal/depth*(1<<inverseBits))))
			depth += clamp(float64(depth*growth), 0.25, float64(3.4*spacing))
		}
	}
	v.starts = append(v.starts, len(v.depths))
	v.borders = append(v.borders, depth)
}
