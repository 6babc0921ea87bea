package terrain

import (
	"telefuser/workers/contract"
)

// Pose is the camera's place and direction: x right, y down, z forward from the first frame, in world units; angles in radians.
type Pose = contract.Pose

// eye turns a pose into a place on the map. Heights follow the land: y is measured from the smooth cover over it.
func (w *World) eye(pose Pose, altitude float64) eyePoint {
	sin, cos := sinCos(w.heading)
	x := float64((float64(pose.Z*sin) + float64(pose.X*cos)) * cellsPerUnit)
	z := float64((float64(pose.Z*cos) - float64(pose.X*sin)) * cellsPerUnit)
	height := w.eyeHeight(x, z, altitude, float64(-pose.Y*cellsPerUnit))
	return eyePoint{x: x, z: z, height: height, heading: w.heading + pose.Yaw, pitch: pose.Pitch}
}
