package workers

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/workers/pipeline"
	"telefuser/workers/stage"
)

// TestTimingIsCounted notes two chunks: the first is a first output, the second a period later, and only what is new in the scheduler's counts counts.
func TestTimingIsCounted(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	m, err := newTimingMetrics(r)
	if err != nil {
		t.Fatal(err)
	}
	ns, first := int64(5e8), 0.25
	one := &pipeline.Timing{ControlToOutputNS: &ns, Session: stage.Latencies{FirstOutputLatencySeconds: &first}, Diagnostics: stage.Diagnostics{SlotLeaks: 3},
		Invocations: []pipeline.Invocation{{Stage: "dit", WaitNS: ns}}, Idle: []pipeline.Idle{{Stage: "dit", Reason: "control", DurationNS: ns}}}
	two := *one
	two.PeriodNS, two.Diagnostics.SlotLeaks, two.Diagnostics.StaleEpochResults = &ns, 4, 2
	m.note("p", nil, nil)
	m.note("p", one, nil)
	m.note("p", &two, one)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, l := range metric.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount()) + metric.GetHistogram().GetSampleSum()
		}
	}
	for name, want := range map[string]float64{
		"telefuser_first_output_latency_seconds p": 1.25, "telefuser_control_to_output_latency_seconds p": 3, "telefuser_chunk_period_seconds p": 1.5,
		"telefuser_stage_wait_seconds p dit": 3, "telefuser_stage_idle_seconds_total p control dit": 1,
		"telefuser_scheduler_diagnostics_total slot_leaks p": 1, "telefuser_scheduler_diagnostics_total stale_epoch_results p": 2,
		"telefuser_scheduler_diagnostics_total cleanup_failures p": 0,
	} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s is %v (%v), want %v; all: %v", name, value, there, want, got)
		}
	}
	doc, err := os.ReadFile("../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if !strings.Contains(string(doc), "`"+family.GetName()) {
			t.Errorf("%s is not documented", family.GetName())
		}
	}
}
