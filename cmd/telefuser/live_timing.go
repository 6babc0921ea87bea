package main

import (
	"telefuser/streaming"
	"telefuser/workers/pipeline"
)

// livePath is a path as pipelines take it.
func livePath(path []streaming.Pose) []pipeline.Pose {
	var out []pipeline.Pose
	for _, pose := range path {
		out = append(out, pipeline.Pose(pose))
	}
	return out
}

// liveTiming is what the stage scheduler saw of a chunk as the room of live sessions takes it.
func liveTiming(t *pipeline.Timing) *streaming.Timing {
	if t == nil {
		return nil
	}
	out := &streaming.Timing{
		ResidenceNS: t.ResidenceNS, ControlToOutputNS: t.ControlToOutputNS, PeriodNS: t.PeriodNS, FirstOutputSeconds: t.Session.FirstOutputLatencySeconds,
		ControlToOutput: (*streaming.LatencySummary)(t.Session.ControlToOutput), ChunkPeriod: (*streaming.LatencySummary)(t.Session.ChunkPeriod),
		Diagnostics: streaming.Diagnostics(t.Diagnostics),
	}
	for _, i := range t.Invocations {
		out.Invocations = append(out.Invocations, streaming.Invocation(i))
	}
	for _, i := range t.Idle {
		out.Idle = append(out.Idle, streaming.Idle(i))
	}
	return out
}
