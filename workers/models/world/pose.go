package world

import (
	"math"

	"telefuser/workers/contract"
)

// Pose is a camera's place and direction: x right, y down, z forward from the first frame, in world units; angles in radians.
type Pose = contract.Pose

// Matrix has three rows of three columns.
type Matrix [3][3]float64

// Rotation is Ry(yaw) Rx(tilt + pitch), from the camera's axes to the world's.
func Rotation(p Pose, tilt float64) Matrix {
	sy, cy := math.Sincos(p.Yaw)
	sp, cp := math.Sincos(tilt + p.Pitch)
	return Matrix{{cy, sy * sp, sy * cp}, {0, cp, -sp}, {-sy, cy * sp, cy * cp}}
}

// times is m n.
func (m Matrix) times(n Matrix) Matrix {
	var r Matrix
	for i := range r {
		for j := range r[i] {
			r[i][j] = m[i][0]*n[0][j] + m[i][1]*n[1][j] + m[i][2]*n[2][j]
		}
	}
	return r
}

// apply is m v.
func (m Matrix) apply(v [3]float64) [3]float64 {
	var r [3]float64
	for i := range r {
		r[i] = m[i][0]*v[0] + m[i][1]*v[1] + m[i][2]*v[2]
	}
	return r
}

// transposed is the inverse of a rotation.
func (m Matrix) transposed() Matrix {
	var r Matrix
	for i := range r {
		for j := range r[i] {
			r[i][j] = m[j][i]
		}
	}
	return r
}

// finite says whether a pose has numbers within a limit.
func finite(p Pose) bool {
	const limit = 1e7
	for _, v := range []float64{p.X, p.Y, p.Z, p.Yaw, p.Pitch} {
		if !(math.Abs(v) <= limit) {
			return false
		}
	}
	return true
}

// between is the pose at a share t of the way; a turn takes the short way round.
func between(a, b Pose, t float64) Pose {
	const round = 2 * math.Pi
	turn := b.Yaw - a.Yaw
	turn -= round * math.Floor((turn+math.Pi)/round)
	return Pose{
		X: a.X + (b.X-a.X)*t, Y: a.Y + (b.Y-a.Y)*t, Z: a.Z + (b.Z-a.Z)*t,
		Yaw: a.Yaw + turn*t, Pitch: a.Pitch + (b.Pitch-a.Pitch)*t,
	}
}
