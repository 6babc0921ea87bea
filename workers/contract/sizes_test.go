package contract_test

import (
	"errors"
	"strings"
	"testing"

	"telefuser/workers/contract"
)

// TestOnlyListedSizes asks a pipeline that takes some sizes alone.
func TestOnlyListedSizes(t *testing.T) {
	c := contract.Contract{
		Name: "film", Tasks: []contract.Task{{Name: contract.TaskTextToVideo, RequiredInputs: []string{"prompt"}}},
		Geometry: contract.Geometry{
			DefaultWidth: 832, DefaultHeight: 480, WidthMin: 480, HeightMin: 480, SideMax: 1280, PixelsMax: 1280 * 720, SideMultiple: 16,
			Sizes: []string{"832x480", "480x832", "1280x720", "720x1280"}, FPSDefault: 16, FPSMin: 16, FPSMax: 16, FramesMax: 81, FramesStep: 4,
			SecondsMax: 6, SecondsDefault: 5, ChunkFrames: 16, FirstChunkFrames: 13,
		},
	}
	for name, tc := range map[string]struct {
		fields map[string]any
		want   string
	}{
		"default": {nil, "832x480"}, "listed": {map[string]any{"size": "720x1280"}, "720x1280"}, "name": {map[string]any{"size": "480p"}, "832x480"},
		"tall": {map[string]any{"size": "720p", "aspect_ratio": "9:16"}, "720x1280"}, "shape": {map[string]any{"aspect_ratio": "3:4"}, "480x832"},
		"other": {map[string]any{"size": "848x480"}, ""}, "no such name": {map[string]any{"size": "1080p"}, ""},
	} {
		got, err := contract.Validate(c, contract.Input{Inputs: []string{"prompt"}, Fields: tc.fields})
		if tc.want != "" && (err != nil || got.Size != tc.want || !c.Geometry.Takes(got.Width, got.Height)) {
			t.Errorf("%s: %q, %v", name, got.Size, err)
		}
		var own *contract.Error
		if tc.want == "" && (!errors.As(err, &own) || own.Param != "size" || !strings.Contains(own.Message, "832x480, 480x832")) {
			t.Errorf("%s: %q, %v", name, got.Size, err)
		}
	}
	if c.Geometry.Takes(848, 480) || c.Geometry.Takes(64, 64) {
		t.Error("a size that is not listed is taken")
	}
}
