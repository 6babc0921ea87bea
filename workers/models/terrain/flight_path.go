package terrain

import "math"

// PathPosesMax bounds the poses of a path that a flight follows.
const PathPosesMax = 64

// FlightPath leads a camera through poses on straight lines, one interval of IntervalFrames frames for each. A flight's first frame is an
// interval of its own, as the first latent of a video is. It is never changed: each frame has one of its own.
type FlightPath struct {
	// To are the poses that are still to be reached, From is where the present interval began, and Frame how many of its frames are made.
	To    []Pose `json:"to"`
	From  Pose   `json:"from"`
	Frame int    `json:"frame"`
}

// next is the pose of the frame after pose, and the path from there on, nil at its end.
func (p FlightPath) next(pose Pose, first bool) (Pose, *FlightPath) {
	if p.Frame == 0 {
		p.From = pose
	}
	p.Frame++
	if !first && p.Frame < IntervalFrames {
		return limited(between(p.From, p.To[0], float64(p.Frame)/IntervalFrames)), &p
	}
	reached := limited(p.To[0])
	if len(p.To) == 1 {
		return reached, nil
	}
	return reached, &FlightPath{To: p.To[1:]}
}

// valid says whether a path that was read can be followed.
func (p *FlightPath) valid() bool {
	if p == nil {
		return true
	}
	ok := len(p.To) > 0 && len(p.To) <= PathPosesMax && p.Frame >= 0 && p.Frame < IntervalFrames && poseInside(p.From)
	for _, pose := range p.To {
		ok = ok && poseInside(pose)
	}
	return ok
}

// between is the pose at a share t of the way; a turn takes the short way round.
func between(a, b Pose, t float64) Pose {
	const round = 2 * math.Pi
	turn := b.Yaw - a.Yaw
	turn -= float64(round * math.Floor((turn+math.Pi)/round))
	return Pose{
		X: mix(a.X, b.X, t), Y: mix(a.Y, b.Y, t), Z: mix(a.Z, b.Z, t),
		Yaw: a.Yaw + float64(turn*t), Pitch: mix(a.Pitch, b.Pitch, t),
	}
}
