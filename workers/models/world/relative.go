package world

import "math"

// Relative is the move from one latent frame to the next in the axes of the former, the translation as a share of the longest in its
// chunk.
type Relative struct {
	Rotation    Matrix
	Translation [3]float64
}

// Relatives are the moves of a chunk: from the pose before it to its first, and on to its last. For the first chunk ever, from is its
// first pose. Translations are divided by the longest of the chunk, if that is more than 1e-6, and multiplied by scale.
func Relatives(from Pose, poses []Pose, tilt, scale float64) []Relative {
	const still = 1e-6 // world units
	moves := make([]Relative, len(poses))
	before, longest := from, 0.0
	for i, p := range poses {
		back := Rotation(before, tilt).transposed()
		moves[i] = Relative{
			Rotation:    back.times(Rotation(p, tilt)),
			Translation: back.apply([3]float64{p.X - before.X, p.Y - before.Y, p.Z - before.Z}),
		}
		longest = max(longest, norm(moves[i].Translation))
		before = p
	}
	for i := range moves {
		t := &moves[i].Translation
		for k := range t {
			if longest <= still {
				t[k] = 0
				continue
			}
			t[k] = t[k] / longest * scale
		}
	}
	return moves
}

func norm(v [3]float64) float64 { return math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2]) }
