package streaming_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"telefuser/streaming"
)

// TestMetrics runs a session and reads the metrics: the documented names are there, counted, and no label holds an id.
func TestMetrics(t *testing.T) {
	b := newBundle(t, quick())
	b.reaper()
	p, _ := b.pool(streaming.PoolConfig{SessionsPerWorkerMax: 2}, &engine{took: time.Millisecond, timing: timing})
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(b.store.Collector(), p.Collector())
	s := b.create(nil)
	room := b.rooms.of(s.Room)
	room.enter("ann")
	room.say(`{"type":"control_state","controls":["w"]}`)
	f := flight{b, s.ID, room}
	b.until("a control is obeyed", func() bool {
		room.say(`{"type":"control_state","controls":["w"],"id":"c"}`)
		return room.find(t, func(m message) bool { return m.stage() == "control_applied" }) != nil
	})
	f.chunk(f.applied("c")["index"])
	if _, err := b.tryCreate(func(s *streaming.Spec) { s.Pipeline = "none" }); err == nil {
		t.Fatal("nobody serves this pipeline")
	}
	families := gather(t, reg)
	liveGauges(t, families)
	if _, err := b.store.End(t.Context(), "alice", s.ID, streaming.ReasonDeleted); err != nil {
		t.Fatal(err)
	}
	b.until("the slot is free", func() bool { return value(gather(t, reg), "worker_active_sessions", "0") == 0 })
	families = gather(t, reg)
	for _, status := range []string{"joining_room", "starting_pipeline", "running", "draining"} {
		if n := value(families, "session_status", status); n != 0 {
			t.Errorf("%v sessions are %s after the end", n, status)
		}
	}
	counts := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if strings.Contains(label.GetValue(), s.ID) || strings.Contains(label.GetValue(), "alice") {
					t.Errorf("%s has the label %v", family.GetName(), label)
				}
			}
			counts[family.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for _, name := range documentedMetrics(t) {
		if _, there := counts[name]; !there {
			t.Errorf("%s is documented and not there", name)
		}
	}
	for _, name := range []string{"session_admissions_total", "sessions_finished_total", "frames_total", "chunks_total", "model_outputs_total", "actions_total",
		"action_to_first_frame_seconds", "chunk_latency_seconds", "queue_wait_seconds", "slo_budget_seconds", "slo_chunks_total", "pipeline_stage_latency_seconds",
		"uptime_seconds", "worker_up", "worker_capacity", "control_messages_total", "batches_total", "batch_items_total", "batch_size", "mean_batch_size",
		"scheduler_mode_info", "slo_attainment_ratio", "worker_maximum_batch_size", "worker_chunk_latency_seconds",
		"worker_pipeline_stage_last_latency_seconds", "worker_busy_ratio", "first_output_latency_seconds", "control_to_output_latency_seconds", "chunk_period_seconds",
		"stage_wait_seconds", "stage_run_seconds", "stage_idle_seconds_total", "scheduler_diagnostics_total"} {
		if counts["telefuser_serving_"+name] <= 0 {
			t.Errorf("%s counts nothing", name)
		}
	}
}

// timing is what a stage scheduler might tell of a chunk: the first one has no period, and a duplicate came with the third.
func timing(chunk int) *streaming.Timing {
	first, ns := 0.5, int64(time.Millisecond)
	out := &streaming.Timing{ResidenceNS: ns, ControlToOutputNS: &ns, FirstOutputSeconds: &first,
		Invocations: []streaming.Invocation{{Stage: "dit", WaitNS: ns, RunNS: ns}}, Idle: []streaming.Idle{{Stage: "dit", Reason: "control", DurationNS: ns}}}
	if chunk > 0 {
		out.PeriodNS = &ns
	}
	if chunk > 1 {
		out.Diagnostics.DuplicateResults = 1
	}
	return out
}

func gather(t *testing.T, reg *prometheus.Registry) []*dto.MetricFamily {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value is the number of the metric whose labels have all these values; -1 when there is none.
func value(families []*dto.MetricFamily, name string, labels ...string) float64 {
	for _, family := range families {
		if family.GetName() != "telefuser_serving_"+name {
			continue
		}
		for _, m := range family.GetMetric() {
			var has []string
			for _, l := range m.GetLabel() {
				has = append(has, l.GetValue())
			}
			fits := true
			for _, l := range labels {
				fits = fits && slices.Contains(has, l)
			}
			if fits {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return -1
}

// liveGauges checks what is to be seen while a session runs.
func liveGauges(t *testing.T, families []*dto.MetricFamily) {
	t.Helper()
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"session_status", []string{"running"}, 1}, {"session_status", []string{"joining_room"}, 0}, {"sessions", []string{"live"}, 1},
		{"worker_active_sessions", []string{"0"}, 1}, {"scheduler_mode_info", []string{"time_slice"}, 1}, {"mean_batch_size", nil, 1},
		{"worker_maximum_batch_size", []string{"0"}, 1}, {"first_output_latency_seconds", nil, 1},
		{"scheduler_diagnostics_total", []string{"duplicate_results"}, 1}, {"scheduler_diagnostics_total", []string{"slot_leaks"}, 0},
		{"errors_total", []string{"oom"}, 0}, {"errors_total", []string{"model"}, 0},
	} {
		if got := value(families, want.name, want.labels...); got != want.value {
			t.Errorf("%s%v is %v, want %v", want.name, want.labels, got, want.value)
		}
	}
	for _, scope := range []string{"aggregate", "per_active_session_mean", "p50", "p95", "min"} {
		if value(families, "published_fps", scope) < 0 {
			t.Errorf("published_fps has no scope %s", scope)
		}
	}
	for _, stat := range []string{"mean", "p95"} {
		if value(families, "worker_chunk_latency_seconds", "0", stat) <= 0 {
			t.Errorf("worker_chunk_latency_seconds has no %s", stat)
		}
	}
}

// documentedMetrics are the names in docs/sessions.md, but those that appear with their first event alone.
func documentedMetrics(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/sessions.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("(?m)^\\| `(telefuser_serving_[a-z_]+)` \\|").FindAllStringSubmatch(string(text), -1)
	if len(names) < 25 {
		t.Fatalf("%d metrics are documented", len(names))
	}
	var out []string
	for _, n := range names {
		if n[1] != "telefuser_serving_errors_total" && n[1] != "telefuser_serving_stale_writes_total" {
			out = append(out, n[1])
		}
	}
	return out
}

// TestReasonsAreDocumented compares the table of ends with the documentation.
func TestReasonsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/sessions.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range streaming.Reasons() {
		row := regexp.MustCompile("(?m)^\\| `" + reason + "` \\| `(\\w+)` \\|").FindSubmatch(text)
		if row == nil || string(row[1]) != string(streaming.EndStatus(reason)) {
			t.Errorf("%s leads to %s; the documentation says %s", reason, streaming.EndStatus(reason), row)
		}
	}
	for _, code := range []string{streaming.CodeTooLarge, streaming.CodeBadJSON, streaming.CodeBadVersion, streaming.CodeWrongSession, streaming.CodeUnknownType,
		streaming.CodeUnknownKey, streaming.CodeDuplicateKey, streaming.CodeBadField, streaming.CodeRateLimited, streaming.CodeUnsupported, streaming.CodeEarlyAck, streaming.CodeEnding} {
		if !strings.Contains(string(text), "| `"+code+"` |") {
			t.Errorf("the code %s is not documented", code)
		}
	}
}
