package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"telefuser/workers/contract"
)

func bound(value float64) *float64 { return &value }

// sample is a contract with one of everything.
func sample() contract.Contract {
	return contract.Contract{
		Name: "sample", Aliases: []string{"sample-1"},
		Tasks: []contract.Task{
			{Name: contract.TaskTextToVideo, RequiredInputs: []string{"prompt"}},
			{Name: contract.TaskImageToVideo, RequiredInputs: []string{"prompt", "input_reference"}},
			{Name: contract.TaskExtend, RequiredInputs: []string{"prompt", "video"}},
		},
		Geometry: contract.Geometry{
			DefaultWidth: 832, DefaultHeight: 480, WidthMin: 64, HeightMin: 64, SideMax: 1920, PixelsMax: 1920 * 1088, SideMultiple: 2,
			FPSDefault: 16, FPSMin: 1, FPSMax: 60, FramesMax: 3601, FramesStep: 4, SecondsMax: 120, SecondsDefault: 4,
			ChunkFrames: 16, FirstChunkFrames: 13,
		},
		Parameters: []contract.Parameter{
			{Name: "seed", Type: contract.TypeInteger},
			{Name: "num_inference_steps", Aliases: []string{"steps", "step"}, Type: contract.TypeInteger, Min: bound(1), Max: bound(50), Default: int64(4)},
			{Name: "guidance_scale", Aliases: []string{"cfg_scale"}, Type: contract.TypeNumber, Min: bound(0), Max: bound(20)},
			{Name: "negative_prompt", Type: contract.TypeString, LengthMax: 10},
			{Name: "mode", Type: contract.TypeString, Enum: []string{"fast", "fine"}, Default: "fast"},
			{Name: "loop", Type: contract.TypeBoolean},
			{Name: "sound", Type: contract.TypeBoolean, Default: true, Live: true},
		},
		Camera: true, SessionsMax: 1,
	}
}

func validate(fields map[string]any) (contract.Resolved, error) {
	return contract.Validate(sample(), contract.Input{Inputs: []string{"prompt"}, Fields: fields})
}

// TestLiveParametersAreForLiveSessions: files refuse them and have none of their defaults.
func TestLiveParametersAreForLiveSessions(t *testing.T) {
	_, err := validate(map[string]any{"sound": true})
	var fault *contract.Error
	if !errors.As(err, &fault) || fault.Param != "sound" || fault.Code != contract.CodeUnsupportedParameter {
		t.Errorf("a file with sound: %v", err)
	}
	for value, want := range map[any]any{nil: true, "false": false} {
		got, err := contract.Validate(sample(), contract.Input{Inputs: []string{"prompt"}, Fields: map[string]any{"sound": value}, Live: true})
		if err != nil || got.Parameters["sound"] != want {
			t.Errorf("a live session with %v: %v, %v", value, got.Parameters, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	got, err := validate(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := contract.Resolved{
		Task: "t2v", Width: 832, Height: 480, Size: "832x480", FPS: 16, Frames: 64, Seconds: "4",
		Parameters: map[string]any{"num_inference_steps": int64(4), "mode": "fast"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func TestGoodFields(t *testing.T) {
	number := func(text string) json.Number { return json.Number(text) }
	for _, test := range []struct {
		fields map[string]any
		want   string // size, fps, frames, seconds
	}{
		{map[string]any{"size": "720x1280"}, "720x1280 16 64 4"},
		{map[string]any{"size": "1920x1088"}, "1920x1088 16 64 4"},
		{map[string]any{"size": "1088x1920"}, "1088x1920 16 64 4"},
		{map[string]any{"size": "1792x1024"}, "1792x1024 16 64 4"},
		{map[string]any{"size": "480p"}, "854x480 16 64 4"},
		{map[string]any{"size": "720P"}, "1280x720 16 64 4"},
		{map[string]any{"size": "1080p"}, "1920x1080 16 64 4"},
		{map[string]any{"size": "1080p", "aspect_ratio": "9:16"}, "1080x1920 16 64 4"},
		{map[string]any{"size": "720p", "aspect_ratio": "4:3"}, "960x720 16 64 4"},
		{map[string]any{"aspect_ratio": "1:1"}, "480x480 16 64 4"},
		{map[string]any{"size": "1280x720", "aspect_ratio": "16:9"}, "1280x720 16 64 4"},
		{map[string]any{"width": "320", "height": number("200")}, "320x200 16 64 4"},
		{map[string]any{"width": 320, "height": 200.0, "size": "320x200"}, "320x200 16 64 4"},
		{map[string]any{"size": nil, "width": "null", "height": nil}, "832x480 16 64 4"},
		{map[string]any{"seconds": "4"}, "832x480 16 64 4"},
		{map[string]any{"seconds": "04"}, "832x480 16 64 4"},
		{map[string]any{"seconds": number("4")}, "832x480 16 64 4"},
		{map[string]any{"seconds": number("4.0")}, "832x480 16 64 4"},
		{map[string]any{"seconds": 8.0, "fps": "24"}, "832x480 24 192 8"},
		{map[string]any{"seconds": int64(120), "fps": 30}, "832x480 30 3600 120"},
		{map[string]any{"num_frames": "77"}, "832x480 16 77 4.8125"},
		{map[string]any{"num_frames": number("81"), "fps": number("24")}, "832x480 24 81 3.375"},
		{map[string]any{"num_frames": 1}, "832x480 16 1 0.0625"},
		{map[string]any{"num_frames": "77", "fps": "30"}, "832x480 30 77 2.566667"},
		{map[string]any{"num_frames": "77.0", "fps": "30.00"}, "832x480 30 77 2.566667"},
		{map[string]any{"num_frames": 96, "seconds": "4", "fps": 24}, "832x480 24 96 4"},
		{map[string]any{"num_frames": 3601, "fps": 60}, "832x480 60 3601 60.016667"},
		{map[string]any{"n": "1"}, "832x480 16 64 4"},
		{map[string]any{"n": 1, "num_outputs_per_prompt": number("1")}, "832x480 16 64 4"},
	} {
		got, err := validate(test.fields)
		if text := fmt.Sprintf("%s %d %d %s", got.Size, got.FPS, got.Frames, got.Seconds); err != nil || text != test.want {
			t.Errorf("%v: %s, %v; want %s", test.fields, text, err, test.want)
		}
	}
}

func TestBadFields(t *testing.T) {
	const value, kind, unknown, missing = contract.CodeInvalidValue, contract.CodeInvalidType, contract.CodeUnknownParameter, contract.CodeMissingParameter
	for _, test := range []struct {
		fields      map[string]any
		param, code string
	}{
		{map[string]any{"size": "832"}, "size", value}, {map[string]any{"size": ""}, "size", value},
		{map[string]any{"size": "832X480"}, "size", value}, {map[string]any{"size": "832x480x3"}, "size", value},
		{map[string]any{"size": " 832x480"}, "size", value}, {map[string]any{"size": "-832x480"}, "size", value},
		{map[string]any{"size": "0x0"}, "size", value}, {map[string]any{"size": "8e2x480"}, "size", value},
		{map[string]any{"size": "99999999999x480"}, "size", value}, {map[string]any{"size": "833x480"}, "size", value},
		{map[string]any{"size": "832x481"}, "size", value}, {map[string]any{"size": "62x480"}, "size", value},
		{map[string]any{"size": "1922x64"}, "size", value}, {map[string]any{"size": "1920x1090"}, "size", value},
		{map[string]any{"size": "2160p"}, "size", value}, {map[string]any{"size": "4k"}, "size", value},
		{map[string]any{"size": 480}, "size", kind}, {map[string]any{"size": []any{}}, "size", kind},
		{map[string]any{"size": "８32x480"}, "size", value},
		{map[string]any{"size": "832x480", "width": 320, "height": 200}, "size", value},
		{map[string]any{"size": "832x480", "width": 320, "height": 480}, "size", value}, {map[string]any{"size": "832x480", "width": 832, "height": 200}, "size", value},
		{map[string]any{"width": 320}, "height", missing}, {map[string]any{"height": 320}, "width", missing},
		{map[string]any{"width": 0, "height": 480}, "width", value}, {map[string]any{"width": "wide", "height": 480}, "width", value},
		{map[string]any{"width": 320, "height": -2}, "height", value}, {map[string]any{"width": 63, "height": 480}, "width", value},
		{map[string]any{"width": json.Number("9223372036854775808"), "height": 480}, "width", value},
		{map[string]any{"aspect_ratio": "5:4"}, "aspect_ratio", value}, {map[string]any{"aspect_ratio": 1.7}, "aspect_ratio", kind},
		{map[string]any{"aspect_ratio": "9:16", "size": "832x480"}, "aspect_ratio", value},
		{map[string]any{"aspect_ratio": "16:9", "size": "832x480"}, "aspect_ratio", ""},
		{map[string]any{"aspect_ratio": "1:1", "size": "832x480"}, "aspect_ratio", value},
		{map[string]any{"aspect_ratio": "1:1", "width": 320, "height": 320}, "aspect_ratio", value},
		{map[string]any{"seconds": "4.5"}, "seconds", value}, {map[string]any{"seconds": "four"}, "seconds", value},
		{map[string]any{"seconds": "-1"}, "seconds", value}, {map[string]any{"seconds": "0"}, "seconds", value},
		{map[string]any{"seconds": ""}, "seconds", value}, {map[string]any{"seconds": "1e1"}, "seconds", value},
		{map[string]any{"seconds": " 4"}, "seconds", value}, {map[string]any{"seconds": "+4"}, "seconds", value},
		{map[string]any{"seconds": json.Number("4.5")}, "seconds", value}, {map[string]any{"seconds": json.Number("1e9")}, "seconds", value},
		{map[string]any{"seconds": json.Number("1e309")}, "seconds", value}, {map[string]any{"seconds": json.Number("-1")}, "seconds", value},
		{map[string]any{"seconds": 0}, "seconds", value}, {map[string]any{"seconds": math.NaN()}, "seconds", value},
		{map[string]any{"seconds": math.Inf(1)}, "seconds", value}, {map[string]any{"seconds": true}, "seconds", value},
		{map[string]any{"seconds": "121"}, "seconds", value}, {map[string]any{"seconds": "99999999999999999999"}, "seconds", value},
		{map[string]any{"seconds": "9223372036854775807"}, "seconds", value},
		{map[string]any{"seconds": "120", "fps": 60}, "seconds", value},
		{map[string]any{"seconds": map[string]any{}}, "seconds", value},
		{map[string]any{"fps": 0}, "fps", value}, {map[string]any{"fps": 61}, "fps", value}, {map[string]any{"fps": "23.976"}, "fps", value},
		{map[string]any{"fps": math.NaN()}, "fps", value}, {map[string]any{"fps": "NaN"}, "fps", value}, {map[string]any{"fps": ""}, "fps", value},
		{map[string]any{"num_frames": -1}, "num_frames", value}, {map[string]any{"num_frames": 0}, "num_frames", value},
		{map[string]any{"num_frames": 80}, "num_frames", value}, {map[string]any{"num_frames": "81.5"}, "num_frames", value},
		{map[string]any{"num_frames": 3605}, "num_frames", value}, {map[string]any{"num_frames": 125, "fps": 1}, "num_frames", value},
		{map[string]any{"num_frames": json.Number("9223372036854775808")}, "num_frames", value},
		{map[string]any{"num_frames": json.Number("1e309")}, "num_frames", value},
		{map[string]any{"num_frames": "77."}, "num_frames", value}, {map[string]any{"num_frames": ".0"}, "num_frames", value},
		{map[string]any{"num_frames": "77.01"}, "num_frames", value}, {map[string]any{"seconds": "4.0"}, "seconds", value},
		{map[string]any{"num_frames": 77, "seconds": "4"}, "num_frames", value},
		{map[string]any{"n": 2}, "n", value}, {map[string]any{"n": "0"}, "n", value}, {map[string]any{"n": "one"}, "n", value}, {map[string]any{"n": true}, "n", value},
		{map[string]any{"num_outputs_per_prompt": 10}, "num_outputs_per_prompt", value},
		{map[string]any{"flow_shift": 3}, "flow_shift", unknown}, {map[string]any{"output_path": "/tmp/x"}, "output_path", unknown},
		{map[string]any{"zeta": 1, "alpha": 1}, "alpha", unknown}, {map[string]any{"": 1}, "", unknown},
		{map[string]any{"seed": "1.5"}, "seed", kind}, {map[string]any{"seed": json.Number("9223372036854775808")}, "seed", kind},
		{map[string]any{"seed": "0x10"}, "seed", kind}, {map[string]any{"seed": true}, "seed", kind}, {map[string]any{"seed": ""}, "seed", kind},
		{map[string]any{"steps": 0}, "steps", value}, {map[string]any{"step": 51}, "step", value}, {map[string]any{"num_inference_steps": "many"}, "num_inference_steps", kind},
		{map[string]any{"steps": 4, "num_inference_steps": 4}, "steps", value},
		{map[string]any{"cfg_scale": "20.5"}, "cfg_scale", value}, {map[string]any{"guidance_scale": -0.1}, "guidance_scale", value},
		{map[string]any{"guidance_scale": "NaN"}, "guidance_scale", kind}, {map[string]any{"guidance_scale": "Inf"}, "guidance_scale", kind},
		{map[string]any{"guidance_scale": "0x1p4"}, "guidance_scale", kind}, {map[string]any{"guidance_scale": "1_0"}, "guidance_scale", kind},
		{map[string]any{"guidance_scale": math.Inf(-1)}, "guidance_scale", kind}, {map[string]any{"guidance_scale": json.Number("1e309")}, "guidance_scale", kind},
		{map[string]any{"negative_prompt": "12345678901"}, "negative_prompt", value}, {map[string]any{"negative_prompt": 5}, "negative_prompt", kind},
		{map[string]any{"mode": "Fast"}, "mode", value}, {map[string]any{"mode": ""}, "mode", value}, {map[string]any{"loop": "yes"}, "loop", kind}, {map[string]any{"loop": 1}, "loop", kind},
		{map[string]any{"camera": "w"}, "camera", value}, {map[string]any{"camera": 1}, "camera", kind},
	} {
		_, err := validate(test.fields)
		if test.code == "" {
			if err != nil {
				t.Errorf("%v: %v", test.fields, err)
			}
			continue
		}
		var fault *contract.Error
		if !errors.As(err, &fault) || fault.Param != test.param || fault.Code != test.code || fault.Message == "" {
			t.Errorf("%v: %#v, want param %q and code %s", test.fields, err, test.param, test.code)
		}
	}
}

func TestTypedParameters(t *testing.T) {
	got, err := validate(map[string]any{"seed": "0", "step": "8", "cfg_scale": json.Number("3.5"), "negative_prompt": "blurry", "mode": "fine", "loop": "true"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"num_inference_steps": int64(8), "guidance_scale": 3.5, "negative_prompt": "blurry", "mode": "fine", "loop": true}
	if !reflect.DeepEqual(got.Parameters, want) {
		t.Errorf("parameters %v, want %v", got.Parameters, want)
	}
	if got.Seed == nil || *got.Seed != 0 {
		t.Errorf("seed %v, want 0", got.Seed)
	}
	for text, seed := range map[any]int64{
		"9223372036854775807": math.MaxInt64, json.Number("9223372036854775807"): math.MaxInt64, json.Number("-9223372036854775808"): math.MinInt64,
		"-5": -5, 7.0: 7, json.Number("1e3"): 1000, int64(9): 9,
	} {
		if got, err := validate(map[string]any{"seed": text}); err != nil || *got.Seed != seed {
			t.Errorf("seed %v: %v %v", text, got.Seed, err)
		}
	}
	if got, err := validate(map[string]any{"seed": "null", "loop": nil}); err != nil || got.Seed != nil {
		t.Errorf("a null seed is %v, %v", got.Seed, err)
	}
}

func TestTasks(t *testing.T) {
	for _, test := range []struct {
		task, inputs, want, param, code string
	}{
		{"", "prompt", "t2v", "", ""},
		{"", "prompt input_reference", "i2v", "", ""},
		{"i2v", "prompt input_reference", "i2v", "", ""},
		{"extend", "prompt video", "extend", "", ""},
		{"", "", "", "prompt", contract.CodeMissingParameter},
		{"", "input_reference", "", "prompt", contract.CodeMissingParameter},
		{"i2v", "prompt", "", "input_reference", contract.CodeMissingParameter},
		{"extend", "prompt", "", "video", contract.CodeMissingParameter},
		{"t2v", "prompt input_reference", "", "input_reference", contract.CodeUnsupportedParameter},
		{"edit", "prompt video", "", "task", contract.CodeUnsupportedParameter},
		{"", "prompt audio", "", "audio", contract.CodeUnsupportedParameter},
	} {
		got, err := contract.Validate(sample(), contract.Input{Task: test.task, Inputs: strings.Fields(test.inputs)})
		var fault *contract.Error
		switch {
		case test.param == "" && (err != nil || got.Task != test.want):
			t.Errorf("%q with %q: %q %v, want %q", test.task, test.inputs, got.Task, err, test.want)
		case test.param != "" && (!errors.As(err, &fault) || fault.Param != test.param || fault.Code != test.code):
			t.Errorf("%q with %q: %#v, want %s %s", test.task, test.inputs, err, test.param, test.code)
		}
	}
}

func TestDefaultSizeOfOtherVendors(t *testing.T) {
	in := contract.Input{Inputs: []string{"prompt"}, DefaultWidth: 720, DefaultHeight: 1280}
	if got, err := contract.Validate(sample(), in); err != nil || got.Size != "720x1280" {
		t.Errorf("%s %v", got.Size, err)
	}
	in.Fields = map[string]any{"size": "64x64"}
	if got, err := contract.Validate(sample(), in); err != nil || got.Size != "64x64" {
		t.Errorf("%s %v", got.Size, err)
	}
}

func TestContractWithoutCamera(t *testing.T) {
	c := sample()
	c.Camera = false
	_, err := contract.Validate(c, contract.Input{Inputs: []string{"prompt"}, Fields: map[string]any{"camera": []any{}}})
	var fault *contract.Error
	if !errors.As(err, &fault) || fault.Param != "camera" || fault.Code != contract.CodeUnknownParameter {
		t.Errorf("%v", err)
	}
}

func TestFieldsCoverWhatIsRead(t *testing.T) {
	c := sample()
	for _, name := range []string{"size", "width", "height", "aspect_ratio", "seconds", "fps", "num_frames", "n", "num_outputs_per_prompt", "camera", "seed", "steps", "cfg_scale"} {
		if _, known := c.Field(name); !known {
			t.Errorf("%s is not a field", name)
		}
	}
	for _, field := range c.Fields() {
		if field.Type == "" {
			t.Errorf("%s has no type", field.Name)
		}
	}
	if !c.Answers("sample") || !c.Answers("sample-1") || c.Answers("") {
		t.Error("Answers is wrong about names")
	}
}

func TestSecondsText(t *testing.T) {
	for _, test := range []struct {
		frames, fps int
		want        string
	}{{64, 16, "4"}, {77, 16, "4.8125"}, {1, 3, "0.333333"}, {2, 3, "0.666667"}, {1000, 10, "100"}, {1, 60, "0.016667"}, {3601, 60, "60.016667"}, {9, 10, "0.9"}} {
		if got := contract.SecondsText(test.frames, test.fps); got != test.want {
			t.Errorf("%d frames at %d fps: %s, want %s", test.frames, test.fps, got, test.want)
		}
	}
}
