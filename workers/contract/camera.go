package contract

import (
	"encoding/json"
	"math"
	"strings"
)

// The limits of a scripted camera.
const (
	CameraControlsMax  = 1024
	CameraPosesMax     = 4096
	CameraTextBytesMax = 1 << 20
	// cameraValueMax bounds positions (world units) and angles (radians), so that no arithmetic on them can overflow.
	cameraValueMax = 1e6
)

// ControlKeys are the keys that a camera knows: w s a d move, j l turn left and right, i k look up and down.
const ControlKeys = "wasdijkl"

// Camera is a scripted flight: either timed key sets or poses.
type Camera struct {
	// Controls hold keys down from a moment on, in the order of time.
	Controls []TimedControl `json:"controls,omitempty"`
	// Poses are absolute positions that the flight passes through evenly, first to last.
	Poses []Pose `json:"poses,omitempty"`
}

// TimedControl holds Keys from AtS (seconds from the start) until the next one.
type TimedControl struct {
	AtS  float64 `json:"at"`
	Keys string  `json:"keys"`
}

// Pose is a camera position in world units (x right, y down, z forward) and its angles in radians.
type Pose struct {
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Z     float64 `json:"z"`
	Yaw   float64 `json:"yaw"`
	Pitch float64 `json:"pitch"`
}

// ParseCamera reads a camera from decoded JSON or from JSON text: a list of timed controls, a list of poses, or an object with one of
// the members `controls` and `poses`. Its error is an *Error for the field `camera`.
func ParseCamera(value any) (*Camera, error) {
	value, err := cameraTree(value)
	if err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case []any:
		return cameraFromList(v)
	case map[string]any:
		return cameraFromObject(v)
	}
	return nil, invalid("camera", CodeInvalidType, "camera must be a list of timed controls or of poses, or an object with `controls` or `poses`")
}

// cameraTree decodes a camera that came as text.
func cameraTree(value any) (any, error) {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case json.RawMessage:
		text = string(v)
	default:
		return value, nil
	}
	if len(text) > CameraTextBytesMax {
		return nil, invalid("camera", CodeInvalidValue, "camera must be at most %d bytes of JSON", CameraTextBytesMax)
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil || dec.More() {
		return nil, invalid("camera", CodeInvalidValue, "camera must be valid JSON")
	}
	return tree, nil
}

func cameraFromObject(object map[string]any) (*Camera, error) {
	for name := range object {
		if name != "controls" && name != "poses" {
			return nil, invalid("camera", CodeInvalidValue, "camera has the unknown member %s; it takes `controls` or `poses`", quote(name))
		}
	}
	controls, hasControls := object["controls"]
	poses, hasPoses := object["poses"]
	hasControls, hasPoses = hasControls && controls != nil, hasPoses && poses != nil
	switch {
	case hasControls && hasPoses:
		return nil, invalid("camera", CodeInvalidValue, "camera takes `controls` or `poses`, not both")
	case hasControls:
		list, _ := controls.([]any)
		return cameraControls(list)
	case hasPoses:
		list, _ := poses.([]any)
		return cameraPoses(list)
	}
	return nil, invalid("camera", CodeInvalidValue, "camera must have `controls` or `poses`")
}

// cameraFromList tells controls from poses by the first entry.
func cameraFromList(list []any) (*Camera, error) {
	if len(list) > 0 {
		if first, ok := list[0].(map[string]any); ok {
			if _, timed := first["keys"]; timed {
				return cameraControls(list)
			}
			if _, timed := first["at"]; timed {
				return cameraControls(list)
			}
		}
	}
	return cameraPoses(list)
}

func cameraControls(list []any) (*Camera, error) {
	if len(list) == 0 || len(list) > CameraControlsMax {
		return nil, invalid("camera", CodeInvalidValue, "camera must have 1 to %d timed controls", CameraControlsMax)
	}
	controls := make([]TimedControl, len(list))
	for i, entry := range list {
		control, err := cameraControl(i, entry)
		if err != nil {
			return nil, err
		}
		if i > 0 && control.AtS <= controls[i-1].AtS {
			return nil, invalid("camera", CodeInvalidValue, "camera control %d: `at` must be later than the one before it", i)
		}
		controls[i] = control
	}
	return &Camera{Controls: controls}, nil
}

func cameraControl(index int, entry any) (TimedControl, error) {
	object, ok := entry.(map[string]any)
	if !ok {
		return TimedControl{}, invalid("camera", CodeInvalidType, "camera control %d must be an object with `at` and `keys`", index)
	}
	for name := range object {
		if name != "at" && name != "keys" {
			return TimedControl{}, invalid("camera", CodeInvalidValue, "camera control %d has the unknown member %s; it takes `at` and `keys`", index, quote(name))
		}
	}
	at, ok := toNumber(object["at"])
	if !ok || at < 0 || at > cameraValueMax {
		return TimedControl{}, invalid("camera", CodeInvalidValue, "camera control %d: `at` must be a number of seconds from 0", index)
	}
	keys, ok := object["keys"].(string)
	if !ok {
		return TimedControl{}, invalid("camera", CodeInvalidType, "camera control %d: `keys` must be a string of %q", index, ControlKeys)
	}
	if !ValidKeys(keys) {
		return TimedControl{}, invalid("camera", CodeInvalidValue, "camera control %d: `keys` must be different letters of %q", index, ControlKeys)
	}
	return TimedControl{AtS: at, Keys: keys}, nil
}

// ValidKeys reports whether keys is a set of control keys: letters of ControlKeys, each at most once. The empty set is one.
func ValidKeys(keys string) bool {
	for i := 0; i < len(keys); i++ {
		if strings.IndexByte(ControlKeys, keys[i]) < 0 || strings.IndexByte(keys[i+1:], keys[i]) >= 0 {
			return false
		}
	}
	return true
}

func cameraPoses(list []any) (*Camera, error) {
	if len(list) == 0 || len(list) > CameraPosesMax {
		return nil, invalid("camera", CodeInvalidValue, "camera must have 1 to %d poses or 1 to %d timed controls", CameraPosesMax, CameraControlsMax)
	}
	poses := make([]Pose, len(list))
	for i, entry := range list {
		pose, err := cameraPose(i, entry)
		if err != nil {
			return nil, err
		}
		poses[i] = pose
	}
	return &Camera{Poses: poses}, nil
}

func cameraPose(index int, entry any) (Pose, error) {
	object, ok := entry.(map[string]any)
	if !ok || len(object) == 0 {
		return Pose{}, invalid("camera", CodeInvalidType, "camera pose %d must be an object with x, y, z, yaw and pitch", index)
	}
	var pose Pose
	for name, value := range object {
		number, ok := toNumber(value)
		if !ok || math.Abs(number) > cameraValueMax {
			return Pose{}, invalid("camera", CodeInvalidValue, "camera pose %d: %s must be a finite number of at most %g", index, quote(name), float64(cameraValueMax))
		}
		switch name {
		case "x":
			pose.X = number
		case "y":
			pose.Y = number
		case "z":
			pose.Z = number
		case "yaw":
			pose.Yaw = number
		case "pitch":
			pose.Pitch = number
		default:
			return Pose{}, invalid("camera", CodeInvalidValue, "camera pose %d has the unknown member %s; it takes x, y, z, yaw and pitch", index, quote(name))
		}
	}
	return pose, nil
}
