package world_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"telefuser/workers/contract"
	"telefuser/workers/models/world"
)

const degree = math.Pi / 180

func camera(t *testing.T, steps world.Steps, script *world.Script) *world.Camera {
	t.Helper()
	c, err := world.NewCamera(steps, script)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func hold(t *testing.T, c *world.Camera, keys string) {
	t.Helper()
	if err := c.Hold(keys); err != nil {
		t.Fatal(err)
	}
}

// matrices flies by the formula of docs/models.md with whole matrices: R' = Ry(yaw) R Rx(pitch), then the camera's own forward and right on
// the ground, made one unit long.
type matrices struct {
	r     world.Matrix
	pitch float64
	x, z  float64
}

func product(a, b world.Matrix) (c world.Matrix) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return c
}

func (m *matrices) fly(s world.Steps, keys string) {
	sign := func(plus, minus string) (v float64) {
		if strings.Contains(keys, plus) {
			v++
		}
		if strings.Contains(keys, minus) {
			v--
		}
		return v
	}
	yaw, pitch := sign("l", "j")*s.Yaw, sign("i", "k")*s.Pitch
	if at := s.Tilt + m.pitch + pitch; at > s.PitchMax || at < s.PitchMin {
		pitch = 0
	}
	m.pitch += pitch
	ry := world.Matrix{{math.Cos(yaw), 0, math.Sin(yaw)}, {0, 1, 0}, {-math.Sin(yaw), 0, math.Cos(yaw)}}
	rx := world.Matrix{{1, 0, 0}, {0, math.Cos(pitch), -math.Sin(pitch)}, {0, math.Sin(pitch), math.Cos(pitch)}}
	m.r = product(product(ry, m.r), rx)
	ground := func(column int) (x, z float64) {
		x, z = m.r[0][column], m.r[2][column]
		n := math.Hypot(x, z)
		return x / n, z / n
	}
	fx, fz := ground(2)
	rx0, rz0 := ground(0)
	forward, right := sign("w", "s")*s.Move, sign("d", "a")*s.Lateral
	m.x += fx*forward + rx0*right
	m.z += fz*forward + rz0*right
}

func TestPosesFollowTheFormula(t *testing.T) {
	tiny := world.Steps{Move: 0.1, Lateral: 0.1, Yaw: degree, Pitch: 0.5 * degree, Tilt: -0.12, PitchMin: -31 * degree, PitchMax: 17 * degree}
	for name, steps := range map[string]world.Steps{"lingbot": world.LingBotSteps(), "tilted": tiny} {
		t.Run(name, func(t *testing.T) {
			c := camera(t, steps, nil)
			m := matrices{r: world.Rotation(world.Pose{}, steps.Tilt)}
			first := true
			for _, keys := range []string{"w", "wl", "dj", "i", "i", "i", "i", "sk", "k", "k", "k", "ak", "wasdijkl", "", "wdil"} {
				hold(t, c, keys)
				got := c.Next(4)
				for i, p := range got.Poses {
					for range world.IntervalSteps {
						if !first {
							m.fly(steps, keys)
						}
					}
					if first && p != (world.Pose{}) {
						t.Fatalf("the first pose is %+v", p)
					}
					first = false
					r := world.Rotation(p, steps.Tilt)
					for a := range 3 {
						for b := range 3 {
							if math.Abs(r[a][b]-m.r[a][b]) > 1e-12 {
								t.Fatalf("%s, latent %d: rotation %v, want %v", keys, i, r, m.r)
							}
						}
					}
					if math.Abs(p.X-m.x) > 1e-12 || math.Abs(p.Z-m.z) > 1e-12 || p.Y != 0 {
						t.Fatalf("%s, latent %d: at %+v, want %g and %g", keys, i, p, m.x, m.z)
					}
				}
			}
		})
	}
}

func TestAStepBeyondTheLimitIsDropped(t *testing.T) {
	steps := world.Steps{Pitch: 0.4 * degree, Tilt: -7 * degree, PitchMin: -9 * degree, PitchMax: 2 * degree}
	c := camera(t, steps, nil)
	c.Next(1)
	hold(t, c, "k")
	c.Next(4)
	if got := c.Pose().Pitch / degree; math.Abs(got+2) > 1e-9 { // five steps of 0.4; a sixth would be beyond -9
		t.Errorf("down to %g degrees", got)
	}
	hold(t, c, "i")
	c.Next(16)
	if got := c.Pose().Pitch / degree; got > 9 || got <= 8.6-1e-9 {
		t.Errorf("up to %g degrees", got)
	}
}

// TestTheCutIntoChunksChangesNoPose flies the same way in chunks of several sizes, once from a stored camera.
func TestTheCutIntoChunksChangesNoPose(t *testing.T) {
	fly := func(stored bool, sizes ...int) (poses []world.Pose) {
		c := camera(t, world.LingBotSteps(), nil)
		for _, n := range sizes {
			hold(t, c, "wjk")
			from := c.Pose()
			got := c.Next(n)
			if got.From != from || got.Keys != "wjk" || got.Revision != 1 {
				t.Fatalf("%+v from %+v", got, from)
			}
			poses = append(poses, got.Poses...)
			if !stored {
				continue
			}
			data, err := c.Store()
			if err != nil {
				t.Fatal(err)
			}
			c = camera(t, world.LingBotSteps(), nil)
			if err := c.Restore(data); err != nil {
				t.Fatal(err)
			}
		}
		return poses
	}
	whole := fly(false, 12)
	for name, got := range map[string][]world.Pose{"fours": fly(false, 4, 4, 4), "ones": fly(false, 1, 1, 5, 5), "stored": fly(true, 4, 1, 7)} {
		if !reflect.DeepEqual(got, whole) {
			t.Errorf("%s: other poses", name)
		}
	}
}

// TestACameraBeginsAgain has a new video begin where the camera stands, in the middle of a path too.
func TestACameraBeginsAgain(t *testing.T) {
	c := camera(t, world.LingBotSteps(), nil)
	hold(t, c, "w")
	c.Next(4)
	c.Begin()
	if got := c.Next(2).Poses; math.Abs(got[0].Z-1.2) > 1e-12 || math.Abs(got[1].Z-1.6) > 1e-12 {
		t.Errorf("poses %+v", got)
	}
	on := world.Pose{X: 7}
	if err := c.Follow([]world.Pose{on}); err != nil {
		t.Fatal(err)
	}
	c.Begin()
	if got := c.Next(2).Poses; math.Abs(got[0].Z-1.6) > 1e-12 || got[1] != on {
		t.Errorf("poses on a path %+v", got)
	}
}

func TestPathsAndJumps(t *testing.T) {
	c := camera(t, world.LingBotSteps(), nil)
	a, b := world.Pose{X: 1, Yaw: 0.5}, world.Pose{X: 2, Pitch: 3}
	if err := c.Follow([]world.Pose{a, b}); err != nil {
		t.Fatal(err)
	}
	hold(t, c, "w")
	got := c.Next(3).Poses
	b.Pitch = 85 * degree
	if got[0] != a || got[1] != b || math.Abs(got[2].Z-0.4) > 1e-12 {
		t.Errorf("poses %+v", got)
	}
	if err := c.Jump(world.Pose{}); err != nil {
		t.Fatal(err)
	}
	hold(t, c, "")
	if got := c.Next(1); got.Poses[0] != (world.Pose{}) || got.Revision != 2 {
		t.Errorf("jump: %+v", got)
	}
	for name, err := range map[string]error{
		"pose": c.Jump(world.Pose{X: math.NaN()}), "path": c.Follow(make([]world.Pose, world.PathPosesMax+1)), "far": c.Follow([]world.Pose{{Z: 1e9}}),
		"keys": c.Hold("x"), "state": c.Restore([]byte(`{"latents":-1}`)), "json": c.Restore([]byte(`{`)),
		"long": c.Restore([]byte(`{"latents":9007199254740993}`)),
	} {
		if !errors.Is(err, world.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := world.NewCamera(world.Steps{Tilt: 1}, nil); !errors.Is(err, world.ErrConfig) {
		t.Errorf("steps: %v", err)
	}
}

func TestScripts(t *testing.T) {
	timed := contract.Camera{Controls: []contract.TimedControl{{AtS: 0, Keys: "w"}, {AtS: 0.5, Keys: "l"}}}
	script, err := world.NewScript(timed, 16, 29, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := camera(t, world.LingBotSteps(), script)
	got := c.Next(4)
	if math.Abs(got.Poses[2].Z-0.8) > 1e-12 || got.Poses[2].Yaw != 0 || math.Abs(got.Poses[3].Yaw-2*degree) > 1e-12 || got.Keys != "l" {
		t.Errorf("timed keys: %+v", got)
	}
	straight := contract.Camera{Poses: []contract.Pose{{}, {Z: 1}, {Z: 1, X: 3}}}
	if script, err = world.NewScript(straight, 16, 29, 0); err != nil {
		t.Fatal(err)
	}
	c = camera(t, world.LingBotSteps(), script)
	poses := c.Next(8).Poses // latent 0 has the first pose, latent 7 the last
	want := func(i int, x, z float64) {
		t.Helper()
		if math.Abs(poses[i].X-x) > 1e-12 || math.Abs(poses[i].Z-z) > 1e-12 {
			t.Errorf("latent %d at %+v, want %g and %g", i, poses[i], x, z)
		}
	}
	want(0, 0, 0)
	want(2, 0, 4.0/7)
	want(5, 9.0/7, 1)
	want(7, 3, 1)
	for name, bad := range map[string]contract.Camera{"empty": {}, "keys": {Controls: []contract.TimedControl{{Keys: "q"}}}, "pose": {Poses: []contract.Pose{{X: math.Inf(1)}}}} {
		if _, err := world.NewScript(bad, 16, 29, 0); !errors.Is(err, world.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
