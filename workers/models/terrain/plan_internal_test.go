package terrain

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"telefuser/workers/media"
)

// drawer is what both renderers are to their tests.
type drawer interface {
	Prepare(shots []Shot, altitude float64) (Plan, Times)
	SetWorld(world *World)
}

// planned draws shots in plans of n, each of which is made before the one before it is drawn, and changes the world on the way.
func planned(t *testing.T, r drawer, night *World, shots []Shot, n, width, height int) (frames []media.Frame) {
	t.Helper()
	type waiting struct {
		plan  Plan
		shots int
	}
	var before *waiting
	draw := func() {
		if before == nil {
			return
		}
		dst := make([]media.Frame, before.shots)
		for i := range dst {
			dst[i] = media.NewFrame(width, height)
		}
		if _, err := before.plan.Draw(t.Context(), dst); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, dst...)
	}
	for at := 0; at < len(shots); at += n {
		if at/n == 2 {
			r.SetWorld(night)
		}
		part := shots[at:min(at+n, len(shots))]
		plan, cost := r.Prepare(part, 1)
		if cost.Encode <= 0 || cost.Generate != 0 {
			t.Errorf("Prepare cost %+v", cost)
		}
		draw()
		before = &waiting{plan, len(part)}
	}
	draw()
	return frames
}

// jumpAbout are shots whose maps push each other out, so that more blocks are needed than are baked ahead.
func jumpAbout(frames int) []Shot {
	shots := make([]Shot, frames)
	for i := range shots {
		shots[i] = Shot{Pose: Pose{X: float64(i%3) * 300, Z: float64(i%2) * 1e5, Yaw: float64(i)}, Ticks: int64(i) * 960}
	}
	return shots
}

// TestPlansGiveTheSameBytes makes plans ahead of the drawing, for quiet flights and wild ones, on the processor and with the kernels, and compares with frames drawn one
// by one.
func TestPlansGiveTheSameBytes(t *testing.T) {
	const width, height, n = 160, 96, 12
	day, night := twoWorlds(t)
	for name, shots := range map[string][]Shot{"quiet": flyAlong(t, 30, 1), "wild": jumpAbout(30)} {
		t.Run(name, func(t *testing.T) {
			plain, err := NewRenderer(day, width, height, 2)
			if err != nil {
				t.Fatal(err)
			}
			var want []media.Frame
			for i, shot := range shots {
				if i == 2*n {
					plain.SetWorld(night)
				}
				frame := media.NewFrame(width, height)
				if _, err := plain.Render(frame, shot.Pose, 1, shot.Ticks); err != nil {
					t.Fatal(err)
				}
				want = append(want, frame)
			}
			check := func(t *testing.T, r drawer) {
				for i, got := range planned(t, r, night, shots, n, width, height) {
					if !bytes.Equal(got.Data, want[i].Data) {
						t.Fatalf("frame %d: %s", i, difference(want[i].Data, got.Data))
					}
				}
			}
			t.Run("processor", func(t *testing.T) {
				r, err := NewRenderer(day, width, height, 2)
				if err != nil {
					t.Fatal(err)
				}
				check(t, r)
			})
			t.Run("kernels", func(t *testing.T) {
				c, _ := onHost(t)
				r, err := c.NewCUDARenderer(t.Context(), day, width, height)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = r.Close() }()
				check(t, r)
			})
		})
	}
}

func twoWorlds(t *testing.T) (day, night *World) {
	t.Helper()
	day, err := NewWorld(WorldConfig{Prompt: "fjord", Seed: 3, HourOfDay: 12})
	if err == nil {
		night, err = NewWorld(WorldConfig{Prompt: "fjord", StylePrompt: "night", Seed: 3, HourOfDay: -1})
	}
	if err != nil {
		t.Fatal(err)
	}
	return day, night
}

func TestWildFlightsBakeLate(t *testing.T) {
	day, _ := twoWorlds(t)
	r, err := NewRenderer(day, 832, 480, 2)
	if err != nil {
		t.Fatal(err)
	}
	made, _ := r.Prepare(jumpAbout(12), 1)
	p := made.(*plan)
	if len(p.jobs) <= blocksAheadMax || len(p.blocks) != blocksAheadMax {
		t.Errorf("%d blocks are needed, %d are baked ahead", len(p.jobs), len(p.blocks))
	}
}

// TestACutPlanIsTheLast: after a plan that was not drawn to its end, those that were made cannot be drawn, and later ones have everything.
func TestACutPlanIsTheLast(t *testing.T) {
	const width, height = 96, 64
	day, _ := twoWorlds(t)
	r, err := NewRenderer(day, width, height, 1)
	if err != nil {
		t.Fatal(err)
	}
	shots := flyAlong(t, 3, 1)
	cut, _ := r.Prepare(shots[:1], 1)
	after, _ := r.Prepare(shots[1:2], 1)
	frame := []media.Frame{media.NewFrame(width, height)}
	cause := errors.New("cut off")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := cut.Draw(ended, frame); !errors.Is(err, cause) {
		t.Errorf("drawn under an ended context: %v", err)
	}
	if _, err := after.Draw(t.Context(), frame); !errors.Is(err, ErrConfig) {
		t.Errorf("drawn after a cut: %v", err)
	}
	if _, err := after.Draw(t.Context(), nil); !errors.Is(err, ErrConfig) {
		t.Errorf("drawn into nothing: %v", err)
	}
	if _, err := r.Render(frame[0], shots[2].Pose, 1, shots[2].Ticks); err != nil {
		t.Fatal(err)
	}
	fresh, err := NewRenderer(day, width, height, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := media.NewFrame(width, height)
	if _, err := fresh.Render(want, shots[2].Pose, 1, shots[2].Ticks); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(frame[0].Data, want.Data) {
		t.Error(difference(want.Data, frame[0].Data))
	}
}
