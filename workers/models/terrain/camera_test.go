package terrain_test

import (
	"encoding/json"
	"math"
	"testing"

	"telefuser/workers/contract"
	"telefuser/workers/models/terrain"
)

const degree = math.Pi / 180

func newFlight(t *testing.T, cfg terrain.FlightConfig, from *terrain.FlightState) *terrain.Flight {
	t.Helper()
	if cfg.FPS == 0 {
		cfg.FPS = 16
	}
	if cfg.Speed == 0 {
		cfg.Speed = 1
	}
	flight, err := terrain.NewFlight(cfg, from)
	if err != nil {
		t.Fatal(err)
	}
	return flight
}

func controls(keys string) *contract.Camera {
	return &contract.Camera{Controls: []contract.TimedControl{{AtS: 0, Keys: keys}}}
}

func TestHeldKeysMoveByTheFormula(t *testing.T) {
	for _, test := range []struct {
		keys                       string
		forward, right, yaw, pitch float64
	}{
		{"", 0, 0, 0, 0}, {"w", 1, 0, 0, 0}, {"s", -1, 0, 0, 0}, {"a", 0, -1, 0, 0}, {"d", 0, 1, 0, 0},
		{"j", 0, 0, -1, 0}, {"l", 0, 0, 1, 0}, {"i", 0, 0, 0, 1}, {"k", 0, 0, 0, -1},
		{"wdl", 1, 1, 1, 0}, {"ws", 0, 0, 0, 0}, {"sajk", -1, -1, -1, -1}, {"wasdijkl", 0, 0, 0, 0},
	} {
		t.Run("keys "+test.keys, func(t *testing.T) {
			flight := newFlight(t, terrain.FlightConfig{Camera: controls(test.keys)}, nil)
			var x, z, yaw, pitch float64
			for frame := range 40 {
				pose, _ := flight.Next()
				if frame > 0 {
					yaw += test.yaw * 0.5 * degree
					pitch += test.pitch * 0.5 * degree
					x += test.forward*0.10*math.Sin(yaw) + test.right*0.10*math.Cos(yaw)
					z += test.forward*0.10*math.Cos(yaw) - test.right*0.10*math.Sin(yaw)
				}
				want := terrain.Pose{X: x, Z: z, Yaw: yaw, Pitch: pitch}
				if !nearPose(pose, want, 1e-9) {
					t.Fatalf("frame %d: pose %+v, want %+v", frame, pose, want)
				}
			}
		})
	}
}

func nearPose(a, b terrain.Pose, tolerance float64) bool {
	for _, d := range []float64{a.X - b.X, a.Y - b.Y, a.Z - b.Z, a.Yaw - b.Yaw, a.Pitch - b.Pitch} {
		if !(math.Abs(d) <= tolerance) {
			return false
		}
	}
	return true
}

func TestPitchStopsAtItsLimit(t *testing.T) {
	flight := newFlight(t, terrain.FlightConfig{Camera: controls("i")}, nil)
	var pose terrain.Pose
	for range 400 {
		pose, _ = flight.Next()
		if pose.Pitch > terrain.PitchLimit {
			t.Fatalf("pitch %g is over the limit", pose.Pitch)
		}
	}
	if pose.Pitch < terrain.PitchLimit-terrain.PitchStep {
		t.Fatalf("pitch %g has not come near the limit", pose.Pitch)
	}
}

func TestScriptedKeysChangeAtIntervals(t *testing.T) {
	// At 16 frames a second an interval is a quarter of a second; 0.3 s lies within the second one, so j starts with the third.
	camera := &contract.Camera{Controls: []contract.TimedControl{{AtS: 0, Keys: "w"}, {AtS: 0.3, Keys: "l"}}}
	flight := newFlight(t, terrain.FlightConfig{Camera: camera}, nil)
	for frame := range 20 {
		pose, _ := flight.Next()
		moved, turned := min(frame, 8), max(frame-8, 0)
		if want := 0.10 * float64(moved); math.Abs(pose.Z-want) > 1e-9 {
			t.Errorf("frame %d: z %g, want %g", frame, pose.Z, want)
		}
		if want := 0.5 * degree * float64(turned); math.Abs(pose.Yaw-want) > 1e-9 {
			t.Errorf("frame %d: yaw %g, want %g", frame, pose.Yaw, want)
		}
	}
}

func TestNothingHeldStandsStill(t *testing.T) {
	flight := newFlight(t, terrain.FlightConfig{}, nil)
	for range 5 {
		flight.Next()
	}
	flight.Hold("w")
	for range 4 {
		flight.Next()
	}
	flight.Hold("")
	for range 5 {
		flight.Next()
	}
	if pose := flight.State().Pose; !nearPose(pose, terrain.Pose{Z: 0.4}, 1e-9) {
		t.Fatalf("pose %+v, want four steps forward", pose)
	}
}

func TestPosesArePassedEvenly(t *testing.T) {
	poses := []terrain.Pose{{}, {Z: 1, Yaw: 0.1}, {X: 1, Z: 1, Y: -0.5}, {X: 2, Z: 3, Pitch: -0.2}}
	flight := newFlight(t, terrain.FlightConfig{Camera: &contract.Camera{Poses: poses}, Frames: 31}, nil)
	var last terrain.Pose
	for frame := range 31 {
		pose, _ := flight.Next()
		if frame%10 == 0 && !nearPose(pose, poses[frame/10], 1e-9) {
			t.Errorf("frame %d: pose %+v, want %+v", frame, pose, poses[frame/10])
		}
		if frame > 0 && math.Hypot(pose.X-last.X, pose.Z-last.Z) > 0.4 {
			t.Errorf("frame %d jumps from %+v to %+v", frame, last, pose)
		}
		last = pose
	}
}

func TestFlightGoesOnFromItsState(t *testing.T) {
	script := &contract.Camera{Controls: []contract.TimedControl{{AtS: 0, Keys: "w"}, {AtS: 1.1, Keys: "wl"}, {AtS: 2, Keys: "di"}, {AtS: 3.3, Keys: ""}}}
	for name, cfg := range map[string]terrain.FlightConfig{
		"script":       {Camera: script},
		"autopilot":    {Autopilot: true, Seed: 9},
		"autopilot 24": {Autopilot: true, Seed: 9, FPS: 24},
		"odd rate":     {Camera: script, FPS: 7, Speed: 2.5},
	} {
		t.Run(name, func(t *testing.T) {
			for split := 1; split < 70; split += 3 {
				whole, first := newFlight(t, cfg, nil), newFlight(t, cfg, nil)
				for range split {
					whole.Next()
					first.Next()
				}
				second := newFlight(t, cfg, throughJSON(t, first.State()))
				for frame := split; frame < 80; frame++ {
					want, wantTicks := whole.Next()
					got, gotTicks := second.Next()
					if got != want || gotTicks != wantTicks {
						t.Fatalf("split at %d, frame %d: %+v at %d, want %+v at %d", split, frame, got, gotTicks, want, wantTicks)
					}
				}
			}
		})
	}
}

func throughJSON(t *testing.T, state terrain.FlightState) *terrain.FlightState {
	t.Helper()
	data, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	var back terrain.FlightState
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	return &back
}

func TestNewScriptStartsAtItsOwnBeginning(t *testing.T) {
	first := newFlight(t, terrain.FlightConfig{Camera: controls("w")}, nil)
	for range 30 {
		first.Next()
	}
	state := first.State()
	second := newFlight(t, terrain.FlightConfig{Camera: controls("l")}, &state)
	pose, _ := second.Next()
	want := state.Pose
	want.Yaw += 0.5 * degree
	if !nearPose(pose, want, 1e-9) {
		t.Fatalf("pose %+v, want a turn on the spot from %+v", pose, state.Pose)
	}
}

func TestAutopilotIsGentle(t *testing.T) {
	flight := newFlight(t, terrain.FlightConfig{Autopilot: true, Seed: 3}, nil)
	last, _ := flight.Next()
	if last != (terrain.Pose{}) {
		t.Fatalf("first pose %+v is not the identity", last)
	}
	for frame := range 1600 {
		pose, _ := flight.Next()
		if turn := math.Abs(pose.Yaw - last.Yaw); turn > terrain.YawStep {
			t.Fatalf("frame %d turns by %g", frame, turn)
		}
		if way := math.Hypot(pose.X-last.X, pose.Z-last.Z); way < 0.05 || way > 0.1 {
			t.Fatalf("frame %d moves by %g", frame, way)
		}
		if math.Abs(pose.Pitch) > 8*degree {
			t.Fatalf("frame %d looks %g up", frame, pose.Pitch)
		}
		last = pose
	}
}

func TestFlightRefusesNonsense(t *testing.T) {
	for _, cfg := range []terrain.FlightConfig{{FPS: 0, Speed: 1}, {FPS: 61, Speed: 1}, {FPS: 16, Speed: -1}, {FPS: 16, Speed: math.NaN()}, {FPS: 16, Speed: 1, Frames: -1}} {
		if _, err := terrain.NewFlight(cfg, nil); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}
