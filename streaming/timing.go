package streaming

import "time"

// Timing is what a source's stage scheduler saw of one chunk: raw facts, durations on the monotonic clock. Unknown is nil.
type Timing struct {
	// ResidenceNS is from the first stage's admission to the chunk's emission, ControlToOutputNS from the acceptance of its control, PeriodNS from the emission
	// before it.
	ResidenceNS       int64
	ControlToOutputNS *int64
	PeriodNS          *int64
	Invocations       []Invocation
	// Idle are the intervals that ended since the chunk before.
	Idle []Idle
	// FirstOutputSeconds, ControlToOutput and ChunkPeriod are of the session so far, Diagnostics of the scheduler since it began.
	FirstOutputSeconds           *float64
	ControlToOutput, ChunkPeriod *LatencySummary
	Diagnostics                  Diagnostics
}

// Invocation is one stage's work on a chunk. WaitNS is from ready to admitted, RunNS from admitted to completed. CPUNS is the
// processor time of the pipeline's own work in it, 0 where it is not measured.
type Invocation struct {
	Stage         string    `json:"stage"`
	InputsReadyAt time.Time `json:"inputs_ready_at"`
	AdmittedAt    time.Time `json:"admitted_at"`
	CompletedAt   time.Time `json:"completed_at"`
	WaitNS        int64     `json:"wait_ns"`
	RunNS         int64     `json:"run_ns"`
	CPUNS         int64     `json:"cpu_ns"`
}

// Idle is an interval in which a stage did not work for the session, and why.
type Idle struct {
	Stage      string    `json:"stage"`
	Reason     string    `json:"reason"`
	From       time.Time `json:"from"`
	DurationNS int64     `json:"duration_ns"`
}

// LatencySummary describes durations in seconds.
type LatencySummary struct {
	Count int64   `json:"count"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	Max   float64 `json:"max"`
	Mean  float64 `json:"mean"`
}

// Diagnostics count what should not happen in a stage scheduler.
type Diagnostics struct {
	StaleEpochResults int64 `json:"stale_epoch_results"`
	OrphanedResults   int64 `json:"orphaned_results"`
	DuplicateResults  int64 `json:"duplicate_results"`
	CleanupFailures   int64 `json:"cleanup_failures"`
	SlotLeaks         int64 `json:"slot_leaks"`
}

// byName are the counts by their names.
func (d Diagnostics) byName() map[string]int64 {
	return map[string]int64{"stale_epoch_results": d.StaleEpochResults, "orphaned_results": d.OrphanedResults, "duplicate_results": d.DuplicateResults,
		"cleanup_failures": d.CleanupFailures, "slot_leaks": d.SlotLeaks}
}

// timingFacts are what the stage scheduler saw of a chunk, which is counted.
func (r *run) timingFacts(it *item) []fact {
	t := it.Timing
	if t == nil {
		return nil
	}
	r.mu.Lock()
	r.timing = t
	r.mu.Unlock()
	r.metrics.scheduler.observe(t)
	r.stats.diagnose(t.Diagnostics, r.metrics.scheduler.diagnostics)
	return []fact{{"schedule", fields{"index": it.Index, "residence_ns": t.ResidenceNS, "control_to_output_ns": t.ControlToOutputNS, "chunk_period_ns": t.PeriodNS,
		"invocations": t.Invocations, "idle_intervals": t.Idle}}}
}

// schedulerMetrics are the session's facts of the stage scheduler as runtime_summary tells them; nil where the source has none.
func (r *run) schedulerMetrics() any {
	r.mu.Lock()
	t := r.timing
	r.mu.Unlock()
	if t == nil {
		return nil
	}
	out := fields{"first_output_latency_seconds": t.FirstOutputSeconds, "control_to_output_latency": t.ControlToOutput, "chunk_period": t.ChunkPeriod}
	for name, n := range t.Diagnostics.byName() {
		out[name] = n
	}
	return out
}
