package terrain

import (
	"math"
	"strings"

	"telefuser/workers/contract"
)

// Pose is the camera's place and direction: x right, y down, z forward from the first frame, in world units; angles in radians.
type Pose = contract.Pose

// The steps that a held key makes in one frame; four frames are one latent interval of the video models that share this contract.
const (
	MoveStep       = 0.10
	LateralStep    = 0.10
	YawStep        = 0.5 * math.Pi / 180
	PitchStep      = 0.5 * math.Pi / 180
	PitchLimit     = 85 * math.Pi / 180
	IntervalFrames = 4
)

// step moves a pose by one frame of held keys: R' = Ry(yaw) R Rx(pitch), then forward and right on the ground plane. A pitch step
// beyond the limit is dropped.
func step(pose Pose, keys string, speed float64) Pose {
	turn := axis(keys, 'l', 'j')
	tilt := axis(keys, 'i', 'k')
	return move(pose, float64(turn*YawStep), float64(tilt*PitchStep),
		float64(float64(axis(keys, 'w', 's')*MoveStep)*speed), float64(float64(axis(keys, 'd', 'a')*LateralStep)*speed))
}

// axis is 1, -1 or 0 for a pair of opposite keys.
func axis(keys string, plus, minus byte) float64 {
	total := 0.0
	if strings.IndexByte(keys, plus) >= 0 {
		total++
	}
	if strings.IndexByte(keys, minus) >= 0 {
		total--
	}
	return total
}

func move(pose Pose, yaw, pitch, forward, right float64) Pose {
	pose.Yaw += yaw
	if tilted := pose.Pitch + pitch; tilted <= PitchLimit && tilted >= -PitchLimit {
		pose.Pitch = tilted
	}
	sin, cos := sinCos(pose.Yaw)
	pose.X += float64(sin*forward) + float64(cos*right)
	pose.Z += float64(cos*forward) - float64(sin*right)
	return pose
}

// eye turns a pose into a place on the map. Heights follow the land: y is measured from the smooth cover over it.
func (w *World) eye(pose Pose, altitude float64) eyePoint {
	sin, cos := sinCos(w.heading)
	x := float64((float64(pose.Z*sin) + float64(pose.X*cos)) * cellsPerUnit)
	z := float64((float64(pose.Z*cos) - float64(pose.X*sin)) * cellsPerUnit)
	height := w.eyeHeight(x, z, altitude, float64(-pose.Y*cellsPerUnit))
	return eyePoint{x: x, z: z, height: height, heading: w.heading + pose.Yaw, pitch: clamp(pose.Pitch, -PitchLimit, PitchLimit)}
}
