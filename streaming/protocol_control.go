package streaming

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// keyNames are the names of keys, as keyboards, browsers and people call them.
var keyNames = map[string]byte{
	"w": 'w', "a": 'a', "s": 's', "d": 'd', "i": 'i', "j": 'j', "k": 'k', "l": 'l',
	"KeyW": 'w', "KeyA": 'a', "KeyS": 's', "KeyD": 'd', "KeyI": 'i', "KeyJ": 'j', "KeyK": 'k', "KeyL": 'l',
	"ArrowUp": 'w', "ArrowDown": 's', "ArrowLeft": 'a', "ArrowRight": 'd',
	"up": 'w', "down": 's', "left": 'a', "right": 'd', "forward": 'w', "backward": 's',
}

// keyOrder is the order in which held keys are written.
const keyOrder = "wasdijkl"

// controlEvents are the names of what a control does.
var controlEvents = map[string]string{
	"": EventPress, "press": EventPress, "keydown": EventPress,
	"release": EventRelease, "keyup": EventRelease, "end": EventRelease,
	"reset": EventClear, "reset_pose": EventResetPose,
}

// fillKeys reads a list of held keys.
func (m *Message) fillKeys(names []string) *Refusal {
	var held [len(keyOrder)]bool
	for _, name := range names {
		key, known := keyNames[name]
		if !known {
			return unknownKey(name)
		}
		i := strings.IndexByte(keyOrder, key)
		if held[i] {
			return &Refusal{Code: CodeDuplicateKey, Message: fmt.Sprintf("%.32q names a key that is held already.", name)}
		}
		held[i] = true
	}
	var keys strings.Builder
	for i, on := range held {
		if on {
			keys.WriteByte(keyOrder[i])
		}
	}
	m.Keys = keys.String()
	return nil
}

func unknownKey(name string) *Refusal {
	return &Refusal{Code: CodeUnknownKey, Message: fmt.Sprintf("%.32q is no key; the keys are w a s d i j k l.", name)}
}

// fillControl reads a press, a release, a reset or a pose.
func (m *Message) fillControl(b body) *Refusal {
	if b.Pose != nil || len(b.Poses) > 0 || len(b.ControlTensor) > 0 {
		return m.fillPose(b)
	}
	event, known := controlEvents[first(b.Event, b.Action)]
	if !known {
		return &Refusal{Code: CodeBadField, Message: "event is press, release, keyup, end, reset or reset_pose."}
	}
	m.Event = event
	name := first(b.Control, b.Direction, b.Key)
	switch name { // the resets are also sent as the control's name
	case "reset":
		m.Event = EventClear
	case "reset_pose":
		m.Event = EventResetPose
	}
	if m.Event == EventClear || m.Event == EventResetPose {
		return nil
	}
	key, known := keyNames[name]
	if !known {
		return unknownKey(name)
	}
	m.Keys = string(key)
	return nil
}

// fillPose reads where the camera goes: one pose, or a path of them.
func (m *Message) fillPose(b body) *Refusal {
	m.Event = EventPose
	if b.Pose != nil {
		if !b.Pose.finite() {
			return &Refusal{Code: CodeBadField, Message: "A pose has finite numbers within a million units."}
		}
		m.Pose = *b.Pose
		return nil
	}
	path := b.Poses
	if len(path) == 0 {
		path = b.ControlTensor
	}
	var ok bool
	if m.Path, ok = readPath(path); !ok {
		return &Refusal{Code: CodeBadField, Message: fmt.Sprintf("poses are 1 to %d of {x, y, z, yaw, pitch} or of 4x4 camera-to-world matrices.", posesMax)}
	}
	m.Event = EventPath
	return nil
}

// readPath reads a path of poses or of matrices.
func readPath(path json.RawMessage) ([]Pose, bool) {
	var items []json.RawMessage
	if json.Unmarshal(path, &items) != nil || len(items) == 0 || len(items) > posesMax {
		return nil, false
	}
	poses := make([]Pose, len(items))
	for i, item := range items {
		pose, ok := readPose(item)
		if !ok {
			return nil, false
		}
		poses[i] = *pose
	}
	return poses, true
}

// readPose reads one pose. A matrix is camera-to-world in a frame with x to the right, y down and z forward, R = Ry(yaw) Rx(pitch).
func readPose(item json.RawMessage) (*Pose, bool) {
	if len(item) > 0 && item[0] == '{' {
		var p Pose
		return &p, json.Unmarshal(item, &p) == nil && p.finite()
	}
	var rows [][]float64
	if json.Unmarshal(item, &rows) != nil || len(rows) != 4 {
		return nil, false
	}
	for _, row := range rows {
		if len(row) != 4 {
			return nil, false
		}
	}
	p := Pose{
		X: rows[0][3], Y: rows[1][3], Z: rows[2][3],
		Yaw: math.Atan2(rows[0][2], rows[2][2]), Pitch: math.Asin(max(-1, min(-rows[1][2], 1))),
	}
	return &p, p.finite()
}
