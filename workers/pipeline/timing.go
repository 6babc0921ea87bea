package pipeline

import (
	"time"

	"telefuser/workers/stage"
)

// Timing is what the stage scheduler saw of one chunk: raw facts, durations on the monotonic clock, moments with their UTC stamp. Unknown is nil.
type Timing struct {
	// ResidenceNS is from the first stage's admission to the emission; it holds overlap. ControlToOutputNS is from the acceptance of the chunk's
	// control to its emission, PeriodNS from the emission before it.
	ResidenceNS       int64  `json:"residence_ns"`
	ControlToOutputNS *int64 `json:"control_to_output_ns"`
	PeriodNS          *int64 `json:"period_ns"`
	// Invocations are those of this chunk, Idle the intervals of the session's stages that ended since the chunk before.
	Invocations []Invocation `json:"invocations"`
	Idle        []Idle       `json:"idle_intervals"`
	// Session is what is known of the session so far, Diagnostics of the scheduler since it began.
	Session     stage.Latencies   `json:"session"`
	Diagnostics stage.Diagnostics `json:"diagnostics"`
}

// Invocation is one stage's work on one chunk.
type Invocation struct {
	Stage         string    `json:"stage"`
	InputsReadyAt time.Time `json:"inputs_ready_at"`
	AdmittedAt    time.Time `json:"admitted_at"`
	CompletedAt   time.Time `json:"completed_at"`
	// WaitNS is from ready to admitted, RunNS from admitted to completed. CPUNS is the processor time of the pipeline's own work in it; 0 where it is not measured.
	WaitNS int64 `json:"wait_ns"`
	RunNS  int64 `json:"run_ns"`
	CPUNS  int64 `json:"cpu_ns"`
}

// Idle is an interval in which a stage did not work for the session, and why.
type Idle struct {
	Stage      string    `json:"stage"`
	Reason     string    `json:"reason"`
	From       time.Time `json:"from"`
	DurationNS int64     `json:"duration_ns"`
}

// timingOf writes down what the scheduler knows of a chunk, and what the stages themselves measured of their work.
func timingOf(f stage.ChunkFact, stages []StageFact, session stage.Latencies, diagnostics stage.Diagnostics) *Timing {
	t := &Timing{
		ResidenceNS: nanoseconds(f.ResidenceSeconds), ControlToOutputNS: maybeNanoseconds(f.ControlToOutputSeconds), PeriodNS: maybeNanoseconds(f.PeriodSeconds),
		Session: session, Diagnostics: diagnostics,
	}
	cpu := make(map[string]int64, len(stages))
	for _, s := range stages {
		cpu[s.Name] += s.CPUNS
	}
	for _, i := range f.Invocations {
		t.Invocations = append(t.Invocations, Invocation{
			Stage: i.Stage, InputsReadyAt: i.InputsReadyAt.UTC(), AdmittedAt: i.AdmittedAt.UTC(), CompletedAt: i.CompletedAt.UTC(),
			WaitNS: i.AdmittedAt.Sub(i.InputsReadyAt).Nanoseconds(), RunNS: i.CompletedAt.Sub(i.AdmittedAt).Nanoseconds(), CPUNS: cpu[i.Stage],
		})
	}
	for _, i := range f.Idle {
		t.Idle = append(t.Idle, Idle{Stage: i.Stage, Reason: string(i.Reason), From: i.From.UTC(), DurationNS: i.To.Sub(i.From).Nanoseconds()})
	}
	return t
}

func nanoseconds(seconds float64) int64 {
	return time.Duration(seconds * float64(time.Second)).Nanoseconds()
}

func maybeNanoseconds(seconds *float64) *int64 {
	if seconds == nil {
		return nil
	}
	ns := nanoseconds(*seconds)
	return &ns
}
