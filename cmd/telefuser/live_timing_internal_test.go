package main

import (
	"reflect"
	"testing"
	"time"

	"telefuser/streaming"
	"telefuser/workers/pipeline"
	"telefuser/workers/stage"
)

// TestTimingReachesTheRoom fills every field of what a pipeline tells and misses none in what the room of live sessions takes.
func TestTimingReachesTheRoom(t *testing.T) {
	ns, seconds, at := int64(7), 0.5, time.Unix(1, 2)
	got := liveTiming(&pipeline.Timing{
		ResidenceNS: 1, ControlToOutputNS: &ns, PeriodNS: &ns, Invocations: []pipeline.Invocation{{Stage: "dit", InputsReadyAt: at, AdmittedAt: at, CompletedAt: at, WaitNS: 2, RunNS: 3}},
		Idle:        []pipeline.Idle{{Stage: "dit", Reason: "control", From: at, DurationNS: 4}},
		Session:     stage.Latencies{FirstOutputLatencySeconds: &seconds, ControlToOutput: &stage.Summary{Count: 5}, ChunkPeriod: &stage.Summary{Mean: 6}},
		Diagnostics: stage.Diagnostics{SlotLeaks: 8},
	})
	want := &streaming.Timing{
		ResidenceNS: 1, ControlToOutputNS: &ns, PeriodNS: &ns, Invocations: []streaming.Invocation{{Stage: "dit", InputsReadyAt: at, AdmittedAt: at, CompletedAt: at, WaitNS: 2, RunNS: 3}},
		Idle:               []streaming.Idle{{Stage: "dit", Reason: "control", From: at, DurationNS: 4}},
		FirstOutputSeconds: &seconds, ControlToOutput: &streaming.LatencySummary{Count: 5}, ChunkPeriod: &streaming.LatencySummary{Mean: 6},
		Diagnostics: streaming.Diagnostics{SlotLeaks: 8},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	fields := reflect.ValueOf(*got)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			t.Errorf("%s is empty", fields.Type().Field(i).Name)
		}
	}
	if liveTiming(nil) != nil || livePath(nil) != nil {
		t.Error("nothing became something")
	}
	if path := livePath([]streaming.Pose{{X: 1}, {Pitch: 2}}); !reflect.DeepEqual(path, []pipeline.Pose{{X: 1}, {Pitch: 2}}) {
		t.Errorf("path %+v", path)
	}
}
