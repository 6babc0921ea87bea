package world

import (
	"fmt"
	"math"
	"strings"
)

// IntervalSteps is how many steps lie between two latent frames: one for each frame of the video.
const IntervalSteps = 4

// Steps are what a held key does in one frame of the video, and where a pitch ends. Lengths are world units, angles radians.
type Steps struct {
	Move, Lateral, Yaw, Pitch float64
	// Tilt is the pitch of the first frame's camera against the horizon. Poses are told from the first frame, so their pitch is 0 there.
	Tilt float64
	// PitchMin and PitchMax bound the pitch against the horizon, Tilt included. A step beyond them is dropped.
	PitchMin, PitchMax float64
}

// Degree is one in radians.
const Degree = math.Pi / 180

// LingBotSteps are those of LingBot-World v2: 0.10 units, half a degree, and 85 degrees up and down.
func LingBotSteps() Steps {
	return Steps{
		Move: 0.10, Lateral: 0.10, Yaw: 0.5 * Degree, Pitch: 0.5 * Degree,
		PitchMin: -85 * Degree, PitchMax: 85 * Degree,
	}
}

// Validate fails with ErrConfig where a number is none or the first frame lies beyond the limits.
func (s Steps) Validate() error {
	const anyMax = 1e3 // beyond all reason, and far from every overflow
	for _, v := range []float64{s.Move, s.Lateral, s.Yaw, s.Pitch, s.Tilt, s.PitchMin, s.PitchMax} {
		if !(math.Abs(v) <= anyMax) {
			return fmt.Errorf("%w: step %g", ErrConfig, v)
		}
	}
	if s.PitchMin > s.Tilt || s.PitchMax < s.Tilt {
		return fmt.Errorf("%w: a tilt of %g outside %g to %g", ErrConfig, s.Tilt, s.PitchMin, s.PitchMax)
	}
	return nil
}

// step is one frame of held keys: R' = Ry(yaw) R Rx(pitch), then forward and right on the ground.
func (s Steps) step(p Pose, keys string) Pose {
	p.Yaw += axis(keys, 'l', 'j') * s.Yaw
	if pitch := p.Pitch + axis(keys, 'i', 'k')*s.Pitch; s.Tilt+pitch <= s.PitchMax && s.Tilt+pitch >= s.PitchMin {
		p.Pitch = pitch
	}
	forward, right := axis(keys, 'w', 's')*s.Move, axis(keys, 'd', 'a')*s.Lateral
	sin, cos := math.Sincos(p.Yaw)
	p.X += sin*forward + cos*right
	p.Z += cos*forward - sin*right
	return p
}

// limited keeps a pose's pitch within the limits.
func (s Steps) limited(p Pose) Pose {
	p.Pitch = min(max(p.Pitch, s.PitchMin-s.Tilt), s.PitchMax-s.Tilt)
	return p
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
