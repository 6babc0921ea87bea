package world

import (
	"encoding/json"
	"fmt"

	"telefuser/workers/contract"
)

// Camera moves from latent frame to latent frame. It is a plain sequence, for one goroutine; what is held, or where a path or a script
// leads, decides each interval of IntervalSteps frames. The first latent frame ever is the first pose itself.
type Camera struct {
	steps  Steps
	script *Script
	state  cameraState
	// begins says that the next latent frame is where the camera stands.
	begins bool
}

// cameraState is all that a camera has to remember between two chunks.
type cameraState struct {
	Pose     Pose   `json:"pose"`
	Keys     string `json:"keys"`
	Revision int64  `json:"revision"`
	Latents  int64  `json:"latents"`
	Path     []Pose `json:"path,omitempty"`
}

// Snapshot is what a chunk is made with.
type Snapshot struct {
	// Revision counts the changes of the held set, Keys is the set in the last interval.
	Revision int64  `json:"revision"`
	Keys     string `json:"keys"`
	// From is the pose of the latent frame before the chunk, Poses are those of the chunk's own.
	From  Pose   `json:"from"`
	Poses []Pose `json:"poses"`
}

// Valid says whether a snapshot that was read has numbers in range.
func (s Snapshot) Valid() bool {
	ok := finite(s.From)
	for _, p := range s.Poses {
		ok = ok && finite(p)
	}
	return ok && contract.ValidKeys(s.Keys)
}

// latentsMax bounds what a stored camera may say of its past, far from every overflow.
const latentsMax = 1 << 40

// PathPosesMax bounds the poses of a path.
const PathPosesMax = 64

// NewCamera stands at the first pose. script may be nil: then held keys and paths lead. It fails with ErrConfig.
func NewCamera(steps Steps, script *Script) (*Camera, error) {
	if err := steps.Validate(); err != nil {
		return nil, err
	}
	return &Camera{steps: steps, script: script}, nil
}

// Hold sets the keys that are held from the next interval on. It fails with ErrConfig for what is no set of keys.
func (c *Camera) Hold(keys string) error {
	if !contract.ValidKeys(keys) {
		return fmt.Errorf("%w: keys %q", ErrConfig, keys)
	}
	if keys != c.state.Keys {
		c.state.Keys = keys
		c.state.Revision++
	}
	return nil
}

// Jump puts the camera at a pose; the next interval starts from there. It fails with ErrConfig.
func (c *Camera) Jump(p Pose) error {
	if !finite(p) {
		return fmt.Errorf("%w: pose out of range", ErrConfig)
	}
	c.state.Pose, c.state.Path = c.steps.limited(p), nil
	return nil
}

// Follow leads the camera through poses, one an interval, instead of what it followed; none ends that. It fails with ErrConfig.
func (c *Camera) Follow(poses []Pose) error {
	if len(poses) > PathPosesMax {
		return fmt.Errorf("%w: a path of %d poses", ErrConfig, len(poses))
	}
	for _, p := range poses {
		if !finite(p) {
			return fmt.Errorf("%w: pose out of range", ErrConfig)
		}
	}
	c.state.Path = append([]Pose(nil), poses...)
	return nil
}

// Begin has the next latent frame be the first of a new video: it is where the camera stands, and a path goes on behind it.
func (c *Camera) Begin() { c.begins = true }

// Pose is where the camera is.
func (c *Camera) Pose() Pose { return c.state.Pose }

// Keys is the set that is held.
func (c *Camera) Keys() string { return c.state.Keys }

// Latents is how many latent frames the camera has been through.
func (c *Camera) Latents() int64 { return c.state.Latents }

// Next moves on by a chunk of so many latent frames.
func (c *Camera) Next(latents int) Snapshot {
	from := c.state.Pose
	poses := make([]Pose, latents)
	for i := range poses {
		poses[i] = c.interval()
	}
	return Snapshot{Revision: c.state.Revision, Keys: c.state.Keys, From: from, Poses: poses}
}

// interval moves on by one latent frame and answers its pose.
func (c *Camera) interval() Pose {
	s := &c.state
	at := s.Latents
	s.Latents++
	if c.begins {
		c.begins = false
		return s.Pose
	}
	if c.script != nil && len(c.script.poses) > 0 {
		s.Pose = c.steps.limited(c.script.at(at))
		return s.Pose
	}
	if len(s.Path) > 0 {
		s.Pose, s.Path = c.steps.limited(s.Path[0]), s.Path[1:]
		return s.Pose
	}
	if at == 0 {
		return s.Pose
	}
	if c.script != nil {
		_ = c.Hold(c.script.keys(at - 1)) // a script has sets of keys only
	}
	for range IntervalSteps {
		s.Pose = c.steps.step(s.Pose, s.Keys)
	}
	return s.Pose
}

// Store writes down what Restore reads.
func (c *Camera) Store() ([]byte, error) {
	data, err := json.Marshal(c.state)
	if err != nil {
		return nil, fmt.Errorf("world: store camera: %w", err)
	}
	return data, nil
}

// Restore puts the camera where another one was. It fails with ErrConfig and then changes nothing.
func (c *Camera) Restore(data []byte) error {
	var s cameraState
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	ok := contract.ValidKeys(s.Keys) && s.Revision >= 0 && s.Latents >= 0 && s.Latents <= latentsMax && finite(s.Pose) && len(s.Path) <= PathPosesMax
	for _, p := range s.Path {
		ok = ok && finite(p)
	}
	if !ok {
		return fmt.Errorf("%w: stored state out of range", ErrConfig)
	}
	c.state = s
	return nil
}
