package world

import "fmt"

// Fold is the side of the square of pixels whose rays become channels; Patch is the side of the square of those that becomes a token.
const (
	Fold  = 8
	Patch = 2
	// RayChannels are three of the origin and three of the direction.
	RayChannels = 6
	// TokenChannels is the width of a token of rays.
	TokenChannels = RayChannels * Fold * Fold * Patch * Patch
)

// Intrinsics are a pinhole camera's, in pixels.
type Intrinsics struct{ FX, FY, CX, CY float64 }

// DefaultIntrinsics look through the middle with a focal length of the picture's width.
func DefaultIntrinsics(width, height int) Intrinsics {
	w, h := float64(width), float64(height)
	return Intrinsics{FX: w, FY: w, CX: w / 2, CY: h / 2}
}

// Rays are the tokens of a picture's rays for each move: [len(moves) * height/16 * width/16, 1536], by frame, row and column. A pixel's ray
// is its move's translation and the direction of its centre, turned, of length 1. A token has its channels in the order (ray channel, row
// and column in the fold, row and column in the patch). It fails with ErrConfig for sizes that are no multiple of 16.
func Rays(moves []Relative, in Intrinsics, width, height int) ([]float32, error) {
	const side = Fold * Patch
	if width < side || height < side || width%side != 0 || height%side != 0 || in.FX == 0 || in.FY == 0 {
		return nil, fmt.Errorf("%w: rays of %dx%d", ErrConfig, width, height)
	}
	out := make([]float32, len(moves)*(height/side)*(width/side)*TokenChannels)
	for f, m := range moves {
		for y := range height {
			for x := range width {
				d := [3]float64{(float64(x) + 0.5 - in.CX) / in.FX, (float64(y) + 0.5 - in.CY) / in.FY, 1}
				length := norm(d)
				for k := range d {
					d[k] /= length
				}
				d = m.Rotation.apply(d)
				token := (f*(height/side)+y/side)*(width/side) + x/side
				channel := ((y%Fold*Fold+x%Fold)*Patch+y/Fold%Patch)*Patch + x/Fold%Patch
				at := token*TokenChannels + channel
				for k := range d {
					out[at+k*Fold*Fold*Patch*Patch] = float32(m.Translation[k])
					out[at+(3+k)*Fold*Fold*Patch*Patch] = float32(d[k])
				}
			}
		}
	}
	return out, nil
}
