package terrain

import (
	"bytes"
	"testing"

	"telefuser/workers/media"
)

// TestSkippedSamplesAreHidden draws each frame twice: once with the true tops of the blocks, and once with tops so high that nothing
// is ever skipped.
func TestSkippedSamplesAreHidden(t *testing.T) {
	skipped := 0
	for _, prompt := range []string{"alpine lake", "islands", "canyon", "volcano", "desert"} {
		w, err := NewWorld(WorldConfig{Prompt: prompt, Seed: 3, HourOfDay: -1})
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewRenderer(w, 160, 96, 2)
		if err != nil {
			t.Fatal(err)
		}
		draw := func(pose Pose) media.Frame {
			frame := media.NewFrame(160, 96)
			if _, err := r.Render(frame, pose, 0.25, 0); err != nil {
				t.Fatal(err)
			}
			return frame
		}
		poses := []Pose{{}, {Yaw: 0.2}, {Z: 3, Y: 3}, {Z: 5, Pitch: -0.6}}
		var frames []media.Frame
		for _, pose := range poses {
			frames = append(frames, draw(pose))
		}
		skipped += r.raiseTops()
		for i, pose := range poses {
			if !bytes.Equal(frames[i].Data, draw(pose).Data) {
				t.Errorf("%s: skipping changes the frame at %+v", prompt, pose)
			}
		}
	}
	if skipped == 0 {
		t.Error("no block has a top")
	}
}

// raiseTops puts all tops over every height and counts those that were not.
func (r *Renderer) raiseTops() (changed int) {
	for k, l := range r.levels {
		for i, top := range l.tops {
			if top != 65535 && r.index.levels[k][i].owner.full {
				changed++
			}
			l.tops[i] = 65535
		}
	}
	return changed
}
