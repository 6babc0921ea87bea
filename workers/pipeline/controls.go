package pipeline

import (
	"fmt"
	"strings"

	"telefuser/workers/contract"
	"telefuser/workers/models/terrain"
)

// controls turns what a viewer sends between two chunks into what the next chunk does. The newest snapshot of held keys wins and the
// ones it replaces unused are counted; but a release does not replace the press before it, so a short tap moves exactly one chunk.
type controls struct {
	// next is the snapshot for the next chunk, and release the one for the chunk after, when keys were let go meanwhile.
	next, release *snapshot
	keys          string
	ids           []string
	overwritten   int64

	prompt *string
	pose   *Pose
	path   []Pose
	reset  bool
}

// PathPosesMax bounds the poses of one control.
const PathPosesMax = terrain.PathPosesMax

// snapshot is a set of held keys and the control that brought it.
type snapshot struct {
	keys, id string
}

// put takes a control. It fails with ErrInvalid.
func (c *controls) put(control Control) error {
	if control.Keys != nil && !contract.ValidKeys(*control.Keys) {
		return fmt.Errorf("%w: keys %q", ErrInvalid, *control.Keys)
	}
	if control.Pose != nil && !validPose(*control.Pose) {
		return fmt.Errorf("%w: pose out of range", ErrInvalid)
	}
	if len(control.Path) > PathPosesMax || control.Pose != nil && len(control.Path) > 0 {
		return fmt.Errorf("%w: a path of %d poses", ErrInvalid, len(control.Path))
	}
	for _, pose := range control.Path {
		if !validPose(pose) {
			return fmt.Errorf("%w: pose out of range", ErrInvalid)
		}
	}
	if control.Keys != nil {
		c.putKeys(snapshot{keys: *control.Keys, id: control.ID})
	} else if control.ID != "" {
		c.putID(control.ID)
	}
	if control.Prompt != nil {
		c.prompt = control.Prompt
	}
	if control.Reset || control.Pose != nil || len(control.Path) > 0 {
		c.reset, c.pose, c.path = control.Reset, control.Pose, control.Path
	}
	return nil
}

func (c *controls) putKeys(s snapshot) {
	switch {
	case c.next == nil:
		c.next = &s
	case released(c.next.keys, s.keys):
		if c.release != nil {
			c.overwritten++
		}
		c.release = &s
	default:
		c.overwritten++
		if c.release != nil {
			c.overwritten++
		}
		c.next, c.release = &s, nil
	}
}

// idsMax bounds the ids of controls without keys that one chunk can answer; the oldest are dropped.
const idsMax = 64

func (c *controls) putID(id string) {
	if len(c.ids) == idsMax {
		c.ids = append(c.ids[:0], c.ids[1:]...)
	}
	c.ids = append(c.ids, id)
}

// released reports whether after is before with at least one key let go and none pressed.
func released(before, after string) bool {
	return len(after) < len(before) && strings.Trim(after, before) == ""
}

// take answers what the next chunk does and the controls that take effect with it.
func (c *controls) take() steering {
	s := steering{ids: c.ids, prompt: c.prompt, pose: c.pose, path: c.path, reset: c.reset}
	c.ids, c.prompt, c.pose, c.path, c.reset = nil, nil, nil, nil, false
	if c.next != nil {
		c.keys = c.next.keys
		if c.next.id != "" {
			s.ids = append(s.ids, c.next.id)
		}
	}
	c.next, c.release = c.release, nil
	s.keys = c.keys
	return s
}

// steering is what one chunk is made with.
type steering struct {
	keys   string
	ids    []string
	prompt *string
	pose   *Pose
	path   []Pose
	reset  bool
}
