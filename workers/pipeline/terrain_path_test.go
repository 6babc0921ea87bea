package pipeline_test

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"telefuser/workers/pipeline"
)

// path makes n poses near to each other: ground that is far away would have to be made first.
func path(n int) []pipeline.Pose {
	poses := make([]pipeline.Pose, n)
	for i := range poses {
		poses[i] = pipeline.Pose{X: 0.1 * float64(i+1), Z: 0.1 * float64(i%3), Yaw: 0.1 * float64(i)}
	}
	return poses
}

// TestAPathIsFlownWhole leads the camera through more poses than a chunk has intervals, and gives it back to the keys.
func TestAPathIsFlownWhole(t *testing.T) {
	t.Parallel()
	session := open(t, request(0))
	next(t, session)
	poses := path(9)
	control(t, session, keys("k", "w"), pipeline.Control{ID: "p", Path: poses})
	for i, want := range []pipeline.Pose{poses[3], poses[7]} {
		if chunk := next(t, session); chunk.Applied.Pose != want || i == 0 && !reflect.DeepEqual(chunk.Applied.ControlIDs, []string{"p", "k"}) {
			t.Fatalf("chunk %d: %+v, want %+v", i+1, chunk.Applied, want)
		}
	}
	last, chunk := poses[8], next(t, session)
	if far := math.Hypot(chunk.Applied.Pose.X-last.X, chunk.Applied.Pose.Z-last.Z); math.Abs(far-1.2) > 1e-9 {
		t.Errorf("12 frames after the path the camera is %g from its end, want 1.2 by the key", far)
	}
}

// TestAPathFromTheFirstFrame: the first frame is an interval of its own, as the first latent is.
func TestAPathFromTheFirstFrame(t *testing.T) {
	t.Parallel()
	session := open(t, request(0))
	poses := path(6)
	control(t, session, pipeline.Control{Path: poses})
	if chunk := next(t, session); chunk.Applied.Pose != poses[3] {
		t.Errorf("13 frames end at %+v, want %+v", chunk.Applied.Pose, poses[3])
	}
	if chunk := next(t, session); chunk.Applied.Pose != poses[5] {
		t.Errorf("the path ends at %+v, want %+v", chunk.Applied.Pose, poses[5])
	}
}

func TestANewerControlEndsAPath(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		newer pipeline.Control
		want  pipeline.Pose
	}{
		"pose":  {pipeline.Control{Pose: &pipeline.Pose{X: -0.5}}, pipeline.Pose{X: -0.5}},
		"reset": {pipeline.Control{Reset: true}, pipeline.Pose{}},
		"path":  {pipeline.Control{Path: []pipeline.Pose{{Z: 0.7}}}, pipeline.Pose{Z: 0.7}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := open(t, request(0))
			control(t, session, pipeline.Control{Path: path(40)})
			next(t, session)
			control(t, session, test.newer)
			for range 2 {
				if chunk := next(t, session); chunk.Applied.Pose != test.want {
					t.Errorf("the camera is at %+v, want %+v", chunk.Applied.Pose, test.want)
				}
			}
			control(t, session, pipeline.Control{Path: path(4)}, test.newer) // both before one chunk
			if chunk := next(t, session); chunk.Applied.Pose != test.want {
				t.Errorf("the older of two won: %+v", chunk.Applied.Pose)
			}
		})
	}
}

func TestBadPathsAreInvalid(t *testing.T) {
	t.Parallel()
	session := open(t, request(0))
	for name, c := range map[string]pipeline.Control{
		"long": {Path: path(pipeline.PathPosesMax + 1)}, "no number": {Path: []pipeline.Pose{{}, {X: math.NaN()}}},
		"two at once": {Path: path(2), Pose: &pipeline.Pose{}},
	} {
		if err := session.Control(t.Context(), c); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	control(t, session, pipeline.Control{Path: path(pipeline.PathPosesMax)})
}

// TestALiveFlightGoesOnFromItsState: keys that are held and what is left of a path are part of it.
func TestALiveFlightGoesOnFromItsState(t *testing.T) {
	t.Parallel()
	session := open(t, request(0))
	control(t, session, keys("", "wj"), pipeline.Control{Path: path(7)})
	parked := next(t, session) // four of the seven poses
	req := request(0)
	req.State = parked.State
	resumed := open(t, req)
	want, got := next(t, session), next(t, resumed) // 16 and 13 frames
	if got.Applied.Keys != "wj" {
		t.Errorf("the keys held are %q", got.Applied.Keys)
	}
	for i := range got.Frames {
		if !reflect.DeepEqual(got.Frames[i], want.Frames[i]) {
			t.Fatalf("frame %d after the state differs", i)
		}
	}
	control(t, resumed, keys("", ""))
	still := next(t, resumed).Applied.Pose
	if after := next(t, resumed); after.Applied.Pose != still || after.Applied.Keys != "" {
		t.Errorf("released keys move the camera: %+v", after.Applied)
	}
	script := request(13)
	script.Camera = &pipeline.Camera{Controls: []pipeline.TimedControl{{Keys: "w"}}}
	chunks, _ := drain(t, open(t, script))
	req.State = chunks[0].State
	if chunk := next(t, open(t, req)); chunk.Applied.Keys != "" {
		t.Errorf("the keys of a script are held: %q", chunk.Applied.Keys)
	}
}
