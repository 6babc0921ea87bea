package terrain

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"

	"telefuser/workers/contract"
)

// TicksPerSecond is the clock of clouds and water.
const TicksPerSecond = 15360

// FlightConfig chooses how the camera flies.
type FlightConfig struct {
	// FPS is frames a second, 1..60. Held keys step once a frame whatever it is; the autopilot keeps its speed in seconds.
	FPS int
	// Speed multiplies all movement.
	Speed float64
	// Seed chooses the autopilot's turns.
	Seed int64
	// Camera is the scripted flight, or nil; Frames is how many frames its poses are spread over.
	Camera *contract.Camera
	Frames int
	// Autopilot flies where there is no script; otherwise the camera obeys Hold.
	Autopilot bool
}

// Flight is a camera under way. It is a plain sequence: each Next is one frame.
type Flight struct {
	cfg       FlightConfig
	scriptKey string
	autopilot autopilot
	path      []Pose
	state     FlightState
	// flown is how many frames this flight itself has made.
	flown int64
}

// FlightState is all that a flight has to remember between two frames.
type FlightState struct {
	// Frame is the number of frames made since the first one ever, Ticks the clock of clouds and water.
	Frame int64 `json:"frame"`
	Ticks int64 `json:"ticks"`
	// Pose is that of the last frame, Keys what is held in the present interval.
	Pose Pose   `json:"pose"`
	Keys string `json:"keys"`
	// Script names the script that was flown and Clock the frames flown with it, so that the same script goes on where it was.
	Script string `json:"script,omitempty"`
	Clock  int64  `json:"clock"`
	// Path is what the camera follows, or nil.
	Path *FlightPath `json:"path,omitempty"`
}

// NewFlight starts a flight at the first pose, or goes on from a state.
func NewFlight(cfg FlightConfig, from *FlightState) (*Flight, error) {
	if cfg.FPS < 1 || cfg.FPS > 60 || !(cfg.Speed >= 0 && cfg.Speed <= 64) || cfg.Frames < 0 {
		return nil, fmt.Errorf("%w: flight at %d fps, speed %g, %d frames", ErrConfig, cfg.FPS, cfg.Speed, cfg.Frames)
	}
	f := &Flight{cfg: cfg, autopilot: newAutopilot(cfg.Seed)}
	if cfg.Camera != nil {
		f.scriptKey = scriptKey(cfg.Camera)
		f.path = cfg.Camera.Poses
	}
	if from != nil {
		f.state = *from
		if from.Script != f.scriptKey {
			f.state.Script, f.state.Clock = f.scriptKey, 0
		}
		if len(f.path) > 0 {
			// A path continues from where the camera is.
			f.path = append([]Pose{from.Pose}, f.path...)
		}
		return f, nil
	}
	f.state.Script = f.scriptKey
	return f, nil
}

// scriptKey is a short name of a script.
func scriptKey(camera *contract.Camera) string {
	text, _ := json.Marshal(camera)
	h := fnv.New128a()
	_, _ = h.Write(text)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// State is the state after the last frame.
func (f *Flight) State() FlightState { return f.state }

// Hold sets the keys that are held from the next frame on. It does nothing to a scripted flight.
func (f *Flight) Hold(keys string) {
	if f.cfg.Camera == nil {
		f.state.Keys = keys
	}
}

// Jump puts the camera at a pose; the next frame starts from there.
func (f *Flight) Jump(pose Pose) {
	f.state.Pose, f.state.Path = limited(pose), nil
}

// Follow leads the camera through poses from the next frame on, instead of what it followed. Held keys move it again after the last one.
func (f *Flight) Follow(poses []Pose) {
	f.state.Path = nil
	if len(poses) > 0 {
		f.state.Path = &FlightPath{To: poses}
	}
}

// Next moves on by one frame and answers its pose and the clock in ticks. The very first frame is the first pose itself.
func (f *Flight) Next() (Pose, int64) {
	s := &f.state
	switch {
	case len(f.path) > 0:
		s.Pose = f.onPath()
	case s.Path != nil:
		s.Pose, s.Path = s.Path.next(s.Pose, s.Frame == 0)
	case s.Frame > 0:
		f.advance()
	}
	ticks := s.Ticks
	s.Frame++
	s.Clock++
	f.flown++
	s.Ticks += int64(TicksPerSecond+f.cfg.FPS/2) / int64(f.cfg.FPS)
	return s.Pose, ticks
}

// advance makes one step by script, autopilot or held keys.
func (f *Flight) advance() {
	s := &f.state
	if f.cfg.Camera != nil {
		// Keys change at the borders of intervals only. Frame 0 is the pose at the start; frames 1 to 4 are the first interval.
		if s.Clock <= 1 || (s.Clock-1)%IntervalFrames == 0 {
			s.Keys = f.scripted(max(s.Clock-1, 0))
		}
		s.Pose = step(s.Pose, s.Keys, f.cfg.Speed)
		return
	}
	if f.cfg.Autopilot {
		pace := 16 / float64(f.cfg.FPS)
		yaw, pitch, forward := f.autopilot.steps(s.Ticks)
		s.Pose = move(s.Pose, float64(yaw*pace), float64(pitch*pace), float64(float64(forward*pace)*f.cfg.Speed), 0)
		return
	}
	s.Pose = step(s.Pose, s.Keys, f.cfg.Speed)
}

// scripted are the keys that the script holds at a frame.
func (f *Flight) scripted(frame int64) string {
	keys := ""
	for _, control := range f.cfg.Camera.Controls {
		if float64(control.AtS*float64(f.cfg.FPS)) > float64(frame)+1e-6 {
			break
		}
		keys = control.Keys
	}
	return keys
}

// onPath is the pose of the next frame on a smooth curve through all poses, spread evenly over the frames.
func (f *Flight) onPath() Pose {
	last := len(f.path) - 1
	if last == 0 || f.cfg.Frames < 2 {
		return limited(f.path[min(last, int(f.flown))])
	}
	frame := min(f.flown, int64(f.cfg.Frames-1))
	at := float64(frame*int64(last)) / float64(f.cfg.Frames-1)
	i := min(int(at), last-1)
	t := at - float64(i)
	before, after := f.path[max(i-1, 0)], f.path[min(i+2, last)]
	from, to := f.path[i], f.path[i+1]
	curve := func(a, b, c, d float64) float64 { return hermite(b, c, float64((c-a)*0.5), float64((d-b)*0.5), t) }
	return limited(Pose{
		X: curve(before.X, from.X, to.X, after.X), Y: curve(before.Y, from.Y, to.Y, after.Y), Z: curve(before.Z, from.Z, to.Z, after.Z),
		Yaw: curve(before.Yaw, from.Yaw, to.Yaw, after.Yaw), Pitch: curve(before.Pitch, from.Pitch, to.Pitch, after.Pitch),
	})
}

func limited(pose Pose) Pose {
	pose.Pitch = clamp(pose.Pitch, -PitchLimit, PitchLimit)
	return pose
}

// hermite is the cubic from a to b with the slopes sa and sb at its ends.
func hermite(a, b, sa, sb, t float64) float64 {
	t2 := float64(t * t)
	t3 := float64(t2 * t)
	smoothed := float64(3*t2) - float64(2*t3)
	return a + float64((b-a)*smoothed) + float64(sa*(t3-float64(2*t2)+t)) + float64(sb*(t3-t2))
}

// autopilot is a gentle flight forward in long bends.
type autopilot struct{ first, second, third float64 }

func newAutopilot(seed int64) autopilot {
	d := newDice("autopilot", seed)
	return autopilot{first: d.between(0, 6.28), second: d.between(0, 6.28), third: d.between(0, 6.28)}
}

// steps are the turns in radians and the way forward in units for one frame at 16 frames a second.
func (a autopilot) steps(ticks int64) (yaw, pitch, forward float64) {
	seconds := float64(ticks) / TicksPerSecond
	start := smooth(0, 3, seconds)
	slow, _ := sinCos(float64(seconds*0.31) + a.first)
	quick, _ := sinCos(float64(seconds*0.53) + a.second)
	nod, _ := sinCos(float64(seconds*0.40) + a.third)
	yaw = float64(start * float64(YawStep*(float64(0.50*slow)+float64(0.30*quick))))
	pitch = float64(start * float64(float64(PitchStep*0.06)*nod))
	return yaw, pitch, float64(MoveStep * mix(0.6, 0.98, start))
}
