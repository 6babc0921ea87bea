package world

import (
	"fmt"

	"telefuser/workers/contract"
)

// Script is a flight that is known before it begins: timed sets of keys, or poses that are passed through evenly.
type Script struct {
	fps      float64
	controls []contract.TimedControl
	poses    []Pose
	// last is the number of the last latent frame, which has the last pose; first is that of the first one.
	first, last int64
}

// NewScript reads a camera for a flight of so many frames that begins after the latent frame `after` (0 for a new one). fps is frames a
// second, frames the frames of the video that are made with it. It fails with ErrConfig.
func NewScript(camera contract.Camera, fps, frames int, after int64) (*Script, error) {
	if fps < 1 || frames < 1 || after < 0 || (len(camera.Controls) == 0) == (len(camera.Poses) == 0) {
		return nil, fmt.Errorf("%w: %d controls and %d poses for %d frames at %d a second", ErrConfig, len(camera.Controls), len(camera.Poses), frames, fps)
	}
	for _, p := range camera.Poses {
		if !finite(p) {
			return nil, fmt.Errorf("%w: pose out of range", ErrConfig)
		}
	}
	for i, c := range camera.Controls {
		if !contract.ValidKeys(c.Keys) || !(c.AtS >= 0) || i > 0 && c.AtS <= camera.Controls[i-1].AtS {
			return nil, fmt.Errorf("%w: control %d", ErrConfig, i)
		}
	}
	return &Script{
		fps: float64(fps), controls: camera.Controls, poses: camera.Poses,
		first: after, last: after + int64(frames+IntervalSteps-2)/IntervalSteps,
	}, nil
}

// keys are what is held in the interval after a latent frame: what the script says for the moment of that frame.
func (s *Script) keys(latent int64) string {
	const tolerance = 1e-6 // of a frame, so that 0.3 s is what it says
	held, frame := "", float64((latent-s.first)*IntervalSteps)
	for _, c := range s.controls {
		if c.AtS*s.fps > frame+tolerance {
			break
		}
		held = c.Keys
	}
	return held
}

// at is the pose of a latent frame on straight lines through all poses, spread evenly from the first latent frame to the last.
func (s *Script) at(latent int64) Pose {
	segments := int64(len(s.poses) - 1)
	if segments == 0 || s.last == s.first {
		return s.poses[0]
	}
	along := min(max(latent-s.first, 0), s.last-s.first) * segments
	i := min(along/(s.last-s.first), segments-1)
	return between(s.poses[i], s.poses[i+1], float64(along-i*(s.last-s.first))/float64(s.last-s.first))
}
