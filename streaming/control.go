package streaming

// Control is one change that the controller asks for. Nil fields keep what is.
type Control struct {
	// ID is the sender's name for it, echoed with the chunk that it took effect in.
	ID string
	// Keys is the whole set of keys held from now on, of "wasdijkl". A tap that is released before the next chunk still acts on it.
	Keys *string
	// Prompt changes the world's look from the next chunk on.
	Prompt *string
	// Pose puts the camera somewhere.
	Pose *Pose
	// Path leads the camera through poses in order, one for each interval of four frames; held keys move it again after the last one.
	Path []Pose
	// Reset goes back to the first pose; Stop ends the session.
	Reset bool
	Stop  bool
}

// explicit says that the control leads the camera itself. The newest explicit control replaces those that no chunk was begun with.
func (c Control) explicit() bool { return c.Pose != nil || len(c.Path) > 0 || c.Reset }

// Pose is a camera position in world units and its angles in radians.
type Pose struct {
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Z     float64 `json:"z"`
	Yaw   float64 `json:"yaw"`
	Pitch float64 `json:"pitch"`
}
