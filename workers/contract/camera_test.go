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

func TestCamerasThatAreTaken(t *testing.T) {
	tree := []any{map[string]any{"at": json.Number("0"), "keys": "w"}, map[string]any{"at": "1.5", "keys": ""}}
	controls := &contract.Camera{Controls: []contract.TimedControl{{AtS: 0, Keys: "w"}, {AtS: 1.5}}}
	poses := &contract.Camera{Poses: []contract.Pose{{X: 1, Y: -2, Z: 3.5, Yaw: 0.1, Pitch: -0.2}, {Z: 4}}}
	const posesText = `[{"x":1,"y":-2,"z":3.5,"yaw":0.1,"pitch":-0.2},{"z":4}]`
	for _, test := range []struct {
		value any
		want  *contract.Camera
	}{
		{tree, controls},
		{map[string]any{"controls": tree}, controls},
		{map[string]any{"controls": tree, "poses": nil}, controls},
		{`[{"at":0,"keys":"w"},{"at":1.5,"keys":""}]`, controls},
		{json.RawMessage(`{"controls":[{"at":0,"keys":"w"},{"at":1.5,"keys":""}]}`), controls},
		{posesText, poses},
		{`{"poses":` + posesText + `}`, poses},
		{`[{"at":0,"keys":"wasdijkl"}]`, &contract.Camera{Controls: []contract.TimedControl{{Keys: "wasdijkl"}}}},
	} {
		got, err := contract.ParseCamera(test.value)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v: %+v, %v", test.value, got, err)
		}
	}
}

func TestCamerasThatAreRefused(t *testing.T) {
	many := func(entry string, count int) string { return "[" + strings.Repeat(entry+",", count-1) + entry + "]" }
	var rising []string
	for i := range contract.CameraControlsMax + 1 {
		rising = append(rising, fmt.Sprintf(`{"at":%d,"keys":""}`, i))
	}
	for _, value := range []any{
		nil, 5, true, "", "w", "[", `[]`, `{}`, `[1]`, `[[]]`, `"w"`, `{"controls":[]}`, `{"controls":{}}`, `{"poses":[]}`, `{"poses":"x"}`, `{"keys":"w"}`,
		`[{"at":0,"keys":"w"}] x`, `{"controls":[{"at":0,"keys":"w"}],"poses":[{"x":1}]}`, `{"controls":[{"at":0,"keys":"w"}],"speed":1}`,
		`[{"keys":"w"}]`, `[{"at":0}]`, `[{"at":-1,"keys":"w"}]`, `[{"at":"soon","keys":"w"}]`, `[{"at":1e309,"keys":"w"}]`, `[{"at":null,"keys":"w"}]`,
		`[{"at":0,"keys":"x"}]`, `[{"at":0,"keys":"W"}]`, `[{"at":0,"keys":"ww"}]`, `[{"at":0,"keys":["w"]}]`, `[{"at":0,"keys":null}]`, `[{"at":0,"keys":"w","x":1}]`,
		`[{"at":1,"keys":"w"},{"at":1,"keys":"s"}]`, `[{"at":1,"keys":"w"},{"at":0,"keys":"s"}]`,
		`[{"x":"far"}]`, `[{"x":1e7}]`, `[{"x":1e309}]`, `[{"roll":1}]`, `[{}]`, `[{"x":1},{"at":0,"keys":"w"}]`, `[{"at":0,"keys":"w"},{"x":1}]`, `[{"x":null}]`,
		many(`{"x":1}`, contract.CameraPosesMax+1), "[" + strings.Join(rising, ",") + "]", strings.Repeat(" ", contract.CameraTextBytesMax) + "[]",
		[]any{map[string]any{"x": math.NaN()}}, []any{map[string]any{"x": math.Inf(1)}}, []any{map[string]any{"at": math.NaN(), "keys": "w"}},
	} {
		camera, err := contract.ParseCamera(value)
		var fault *contract.Error
		if !errors.As(err, &fault) || fault.Param != "camera" || camera != nil {
			t.Errorf("%.60v: %+v, %v", value, camera, err)
		}
	}
	if _, err := contract.ParseCamera("[" + strings.Join(rising[1:], ",") + "]"); err != nil {
		t.Errorf("the largest script: %v", err)
	}
	if _, err := contract.ParseCamera(many(`{"x":1}`, contract.CameraPosesMax)); err != nil {
		t.Errorf("the longest path: %v", err)
	}
}

func FuzzSize(f *testing.F) {
	for _, text := range []string{"832x480", "0x0", "1x", "x", "99999x99999", "-1x1", "832x480x1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		width, height, err := contract.ParseSize(text)
		if err == nil && (width < 1 || height < 1 || fmt.Sprintf("%dx%d", width, height) != text) {
			t.Fatalf("%q is read as %dx%d", text, width, height)
		}
		resolved, err := validate(map[string]any{"size": text})
		if err == nil && (resolved.Width%2 != 0 || resolved.Height < 64 || resolved.Width*resolved.Height > 1920*1088) && text != "null" {
			t.Fatalf("%q resolves to %s", text, resolved.Size)
		}
	})
}

func FuzzSeconds(f *testing.F) {
	for _, text := range []string{"4", "04", "4.5", "four", "-1", "0", "1e9", "99999999999999999999", "+4", "٤"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, value := range []any{text, json.Number(text)} {
			seconds, err := contract.ParseSeconds(value)
			if err == nil && seconds < 1 {
				t.Fatalf("%q is read as %d", text, seconds)
			}
			resolved, err := validate(map[string]any{"seconds": value})
			if err == nil && text != "null" && (resolved.Frames < 16 || resolved.Frames > 120*16) {
				t.Fatalf("%q resolves to %d frames", text, resolved.Frames)
			}
		}
	})
}

func FuzzCamera(f *testing.F) {
	for _, text := range []string{`[{"at":0,"keys":"w"}]`, `{"poses":[{"x":1}]}`, `[]`, `[{"at":1e308,"keys":""}]`, `{"controls":null}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		camera, err := contract.ParseCamera(text)
		if err != nil {
			var fault *contract.Error
			if !errors.As(err, &fault) || fault.Param != "camera" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if (len(camera.Controls) == 0) == (len(camera.Poses) == 0) {
			t.Fatalf("%q is read as %+v", text, camera)
		}
		for i, control := range camera.Controls {
			if !contract.ValidKeys(control.Keys) || !(control.AtS >= 0) || i > 0 && control.AtS <= camera.Controls[i-1].AtS {
				t.Fatalf("%q has the control %+v", text, control)
			}
		}
		again, err := json.Marshal(camera)
		if err != nil {
			t.Fatal(err)
		}
		back, err := contract.ParseCamera(string(again))
		if err != nil || !reflect.DeepEqual(back, camera) {
			t.Fatalf("%q does not survive: %v", text, err)
		}
	})
}
