package engine

import (
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"telefuser/workers/engine/enginepb"
	"telefuser/workers/pipeline"
	"telefuser/workers/stage"
)

// TestControlsSurviveTheWire sends one of everything.
func TestControlsSurviveTheWire(t *testing.T) {
	keys, prompt := "", "snow"
	for name, want := range map[string]pipeline.Control{
		"nothing": {},
		"all": {ID: "c", Keys: &keys, Prompt: &prompt, Pose: &pipeline.Pose{X: 1, Y: 2, Z: 3, Yaw: 4, Pitch: 5}, Reset: true,
			Path: []pipeline.Pose{{X: 1}, {Pitch: -1}, {Z: 2, Yaw: 3}}},
	} {
		raw, err := proto.Marshal(controlToWire("s", want))
		if err != nil {
			t.Fatal(err)
		}
		var in enginepb.ControlRequest
		if err := proto.Unmarshal(raw, &in); err != nil {
			t.Fatal(err)
		}
		if got := controlFromWire(&in); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestTimingSurvivesTheWire and is absent where there is none.
func TestTimingSurvivesTheWire(t *testing.T) {
	ns, seconds, at := int64(7), 0.5, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for name, want := range map[string]*pipeline.Timing{
		"none": nil,
		"all": {ResidenceNS: 1, ControlToOutputNS: &ns, PeriodNS: &ns,
			Invocations: []pipeline.Invocation{{Stage: "dit", InputsReadyAt: at, AdmittedAt: at, CompletedAt: at, WaitNS: 2, RunNS: 3}},
			Idle:        []pipeline.Idle{{Stage: "dit", Reason: "control", From: at, DurationNS: 4}},
			Session:     stage.Latencies{FirstOutputLatencySeconds: &seconds, ChunkPeriod: &stage.Summary{Count: 5, Mean: 6}},
			Diagnostics: stage.Diagnostics{SlotLeaks: 8}},
		"first": {ResidenceNS: 1},
	} {
		out, err := chunkToWire(pipeline.Chunk{Timing: want})
		if err != nil {
			t.Fatal(err)
		}
		got, err := chunkFromWire(out, nil)
		if err != nil || !reflect.DeepEqual(got.Timing, want) {
			t.Errorf("%s: %+v, want %+v, %v", name, got.Timing, want, err)
		}
	}
	if _, err := chunkFromWire(&enginepb.Chunk{TimingJson: []byte("{")}, nil); err == nil {
		t.Error("bad JSON is a timing")
	}
}
