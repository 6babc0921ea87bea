package streaming_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"telefuser/streaming"
)

func TestParseMessage(t *testing.T) {
	for text, want := range map[string]streaming.Message{
		`{"type":"control_state","controls":["KeyW","j"],"id":"7"}`:                           {ID: "7", Type: "control_state", Keys: "wj"},
		`{"type":"control_state","controls":[]}`:                                              {Type: "control_state"},
		`{"type":"control","control":"ArrowUp"}`:                                              {Type: "control", Event: "press", Keys: "w"},
		`{"type":"control","direction":"left","event":"release"}`:                             {Type: "control", Event: "release", Keys: "a"},
		`{"type":"control","key":"KeyL","action":"keyup","control_id":"x"}`:                   {ID: "x", Type: "control", Event: "release", Keys: "l"},
		`{"type":"control","event":"reset"}`:                                                  {Type: "control", Event: "clear"},
		`{"type":"control","control":"reset_pose"}`:                                           {Type: "control", Event: "reset_pose"},
		`{"version":1,"session_id":"s","type":"prompt","id":"p","payload":{"prompt":"snow"}}`: {ID: "p", Type: "prompt", Prompt: "snow"},
		`{"version":1,"type":"control","payload":{"id":"q","control":"w","event":"end"}}`:     {ID: "q", Type: "control", Event: "release", Keys: "w"},
		`{"type":"reset"}`: {Type: "reset"},
		`{"type":"stop"}`:  {Type: "stop"},
		`{"type":"delivery_ack","published_frames":957}`:                                        {Type: "delivery_ack", PublishedFrames: 957},
		`{"type":"control","pose":{"x":1,"y":2,"z":3,"yaw":0.5,"pitch":-0.25}}`:                 {Type: "control", Event: "pose", Pose: streaming.Pose{X: 1, Y: 2, Z: 3, Yaw: .5, Pitch: -.25}},
		`{"type":"control","poses":[{"x":9},{"x":4,"z":2}]}`:                                    {Type: "control", Event: "path", Path: []streaming.Pose{{X: 9}, {X: 4, Z: 2}}},
		`{"type":"control","control_tensor":[[[1,0,0,5],[0,1,0,6],[0,0,1,7],[0,0,0,1]]],"a":1}`: {Type: "control", Event: "path", Path: []streaming.Pose{{X: 5, Y: 6, Z: 7}}},
	} {
		got, err := streaming.ParseMessage([]byte(text), "s")
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for i := range got.Path {
			if got.Path[i].Pitch == 0 {
				got.Path[i].Pitch = 0 // -0 and 0 are one angle
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", text, got, want)
		}
	}
}

func TestMatrixBecomesAngles(t *testing.T) {
	yaw, pitch := 0.7, -0.3
	sy, cy, sp, cp := math.Sin(yaw), math.Cos(yaw), math.Sin(pitch), math.Cos(pitch)
	m := [][]float64{{cy, sy * sp, sy * cp, 1}, {0, cp, -sp, 2}, {-sy, cy * sp, cy * cp, 3}, {0, 0, 0, 1}}
	text, err := json.Marshal(map[string]any{"type": "control", "poses": [][][]float64{m}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := streaming.ParseMessage(text, "s")
	if err != nil || len(got.Path) != 1 || math.Abs(got.Path[0].Yaw-yaw) > 1e-9 || math.Abs(got.Path[0].Pitch-pitch) > 1e-9 || got.Path[0].Z != 3 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestParseMessageRefuses(t *testing.T) {
	for text, code := range map[string]string{
		``:                    "bad_json",
		`null`:                "bad_json",
		`[]`:                  "bad_json",
		`{`:                   "bad_json",
		`{} {}`:               "bad_json",
		"{\"type\":\"\xff\"}": "bad_json",
		`{"type":7}`:          "bad_json",
		`{"type":"control_state","controls":"w"}`:                          "bad_json",
		`{"version":1,"type":"prompt","payload":[1]}`:                      "bad_json",
		`{"version":2,"type":"stop"}`:                                      "bad_version",
		`{"session_id":"other","type":"stop"}`:                             "wrong_session",
		`{}`:                                                               "unknown_type",
		`{"type":"dance"}`:                                                 "unknown_type",
		`{"type":"control_state"}`:                                         "bad_field",
		`{"type":"control_state","controls":["w","KeyW"]}`:                 "duplicate_key",
		`{"type":"control_state","controls":["w","x"]}`:                    "unknown_key",
		`{"type":"control","control":"q"}`:                                 "unknown_key",
		`{"type":"control"}`:                                               "unknown_key",
		`{"type":"control","control":"w","event":"hold"}`:                  "bad_field",
		`{"type":"control","poses":[]}`:                                    "bad_field",
		`{"type":"control","poses":[{"x":1},{"x":1e7}]}`:                   "bad_field",
		`{"type":"control","poses":[{}` + strings.Repeat(",{}", 64) + `]}`: "bad_field",
		`{"type":"control","poses":[[1]]}`:                                 "bad_field",
		`{"type":"control","poses":[[[1],[2],[3],[4]]]}`:                   "bad_field",
		`{"type":"control","pose":{"x":1e9}}`:                              "bad_field",
		`{"type":"prompt","prompt":""}`:                                    "bad_field",
		`{"type":"delivery_ack"}`:                                          "bad_field",
		`{"type":"delivery_ack","published_frames":-1}`:                    "bad_field",
		`{"type":"delivery_ack","published_frames":1.5}`:                   "bad_field",
		`{"type":"stop","id":"` + strings.Repeat("i", 65) + `"}`:           "bad_field",
		`{"type":"prompt","prompt":"` + strings.Repeat("p", 13<<10) + `"}`: "too_large",
	} {
		_, err := streaming.ParseMessage([]byte(text), "s")
		var refusal *streaming.Refusal
		if !errors.As(err, &refusal) || refusal.Code != code || refusal.Message == "" {
			t.Errorf("%.60s: %v, want %s", text, err, code)
		}
	}
	_, err := streaming.ParseMessage([]byte(`{"type":"control","id":"c9","control":"q"}`), "s")
	var refusal *streaming.Refusal
	if !errors.As(err, &refusal) || refusal.ID != "c9" {
		t.Errorf("the refusal must name the message: %v", err)
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, text := range []string{`{"type":"control_state","controls":["w"]}`, `{"version":1,"session_id":"s","type":"control","payload":{"poses":[[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]]}}`,
		`{"type":"delivery_ack","published_frames":1e3}`, `{"type":"control","pose":{"yaw":1}}`, `{"payload":null}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		m, err := streaming.ParseMessage(payload, "s")
		var refusal *streaming.Refusal
		if err != nil {
			if !errors.As(err, &refusal) || refusal.Code == "" || refusal.Message == "" {
				t.Fatalf("refused without a code or a text: %v", err)
			}
			return
		}
		if strings.Trim(m.Keys, "wasdijkl") != "" || len(m.ID) > 64 || m.PublishedFrames < 0 || len(payload) > streaming.ControlBytesMax {
			t.Fatalf("let through %+v", m)
		}
		if len(m.Path) > 64 {
			t.Fatalf("let through a path of %d poses", len(m.Path))
		}
		for _, p := range append(m.Path, m.Pose) {
			for _, v := range []float64{p.X, p.Y, p.Z, p.Yaw, p.Pitch} {
				if math.IsNaN(v) || math.Abs(v) > 1e6 {
					t.Fatalf("let through a pose %+v", p)
				}
			}
		}
	})
}
