package terrain_test

import (
	"encoding/json"
	"math"
	"testing"

	"telefuser/workers/models/terrain"
)

// TestAPathIsFollowed checks every frame: straight lines of four frames from pose to pose, the first frame of a flight on its own, then the held keys.
func TestAPathIsFollowed(t *testing.T) {
	for name, before := range map[string]int{"from the first frame": 0, "later": 5} {
		t.Run(name, func(t *testing.T) {
			flight := newFlight(t, terrain.FlightConfig{}, nil)
			flight.Hold("w")
			var at terrain.Pose
			for range before {
				at, _ = flight.Next()
			}
			to := []terrain.Pose{{X: 1, Y: -1, Z: 2, Yaw: 3, Pitch: 0.5}, {X: -1, Yaw: -3}, {X: -1, Yaw: -3, Pitch: 2}}
			flight.Follow(to)
			for i, pose := range to {
				frames, turn := 4, pose.Yaw-at.Yaw
				if before == 0 && i == 0 {
					frames = 1
				}
				if i == 1 {
					turn = 2*math.Pi - 6 // the short way round
				}
				pose.Pitch = min(pose.Pitch, terrain.PitchLimit)
				for frame := range frames {
					t1 := float64(frame+1) / float64(frames)
					want := terrain.Pose{X: at.X + (pose.X-at.X)*t1, Y: at.Y + (pose.Y-at.Y)*t1, Z: at.Z + (pose.Z-at.Z)*t1, Yaw: at.Yaw + turn*t1, Pitch: at.Pitch + (pose.Pitch-at.Pitch)*t1}
					if frame == frames-1 {
						want.Yaw = pose.Yaw
					}
					if i == 2 { // the limit holds on the way as well
						want.Pitch = min(2*t1, terrain.PitchLimit)
					}
					if got, _ := flight.Next(); !nearPose(got, want, 1e-9) {
						t.Fatalf("pose %d, frame %d: %+v, want %+v", i, frame, got, want)
					}
				}
				at = pose
			}
			got, _ := flight.Next()
			if far := math.Hypot(got.X-at.X, got.Z-at.Z); math.Abs(far-terrain.MoveStep) > 1e-9 {
				t.Errorf("after the path the key moves the camera by %g", far)
			}
		})
	}
}

func TestAPathGoesOnFromAState(t *testing.T) {
	whole := newFlight(t, terrain.FlightConfig{}, nil)
	whole.Next()
	whole.Follow([]terrain.Pose{{X: 4}, {Z: 4}, {Yaw: 1}})
	for range 6 {
		whole.Next()
	}
	text, err := json.Marshal(whole.State())
	if err != nil {
		t.Fatal(err)
	}
	var state terrain.FlightState
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	resumed := newFlight(t, terrain.FlightConfig{}, &state)
	for frame := range 10 {
		want, _ := whole.Next()
		if got, _ := resumed.Next(); got != want {
			t.Fatalf("frame %d: %+v, want %+v", frame, got, want)
		}
	}
	if whole.State().Path != nil {
		t.Error("the path does not end")
	}
}

func TestAPathEndsByAJump(t *testing.T) {
	flight := newFlight(t, terrain.FlightConfig{}, nil)
	flight.Follow([]terrain.Pose{{X: 4}, {Z: 4}})
	flight.Next()
	flight.Jump(terrain.Pose{Y: 9})
	for range 3 {
		if got, _ := flight.Next(); got != (terrain.Pose{Y: 9}) {
			t.Fatalf("at %+v", got)
		}
	}
}

func TestStateRefusesBadPaths(t *testing.T) {
	for name, text := range map[string]string{
		"empty": `{"to":[]}`, "frame": `{"to":[{}],"frame":4}`, "negative": `{"to":[{}],"frame":-1}`, "far": `{"to":[{"x":1e8}]}`, "far from": `{"to":[{}],"from":{"z":1e9}}`,
	} {
		if _, err := terrain.DecodeState([]byte(`{"v":1,"flight":{"path":` + text + `}}`)); err == nil {
			t.Errorf("%s: read", name)
		}
	}
	if _, err := terrain.DecodeState([]byte(`{"v":1,"flight":{"path":{"to":[{"x":1}],"frame":3}}}`)); err != nil {
		t.Error(err)
	}
}
