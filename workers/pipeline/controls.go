package pipeline

import (
	"fmt"
	"strings"

	"telefuser/workers/contract"
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
	reset  bool
}

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
	if control.Keys != nil {
		c.putKeys(snapshot{keys: *control.Keys, id: control.ID})
	} else if control.ID != "" {
		c.putID(control.ID)
	}
	if control.Prompt != nil {
		c.prompt = control.Prompt
	}
	switch {
	case control.Reset:
		c.reset, c.pose = true, nil
	case control.Pose != nil:
		c.reset, c.pose = false, control.Pose
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

// take answers the keys for the next chunk and the controls that take effect with it.
func (c *controls) take() (keys string, ids []string) {
	ids, c.ids = c.ids, nil
	if c.next != nil {
		c.keys = c.next.keys
		if c.next.id != "" {
			ids = append(ids, c.next.id)
		}
	}
	c.next, c.release = c.release, nil
	return c.keys, ids
}
