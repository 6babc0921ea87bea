package streaming_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/streaming"
)

// TestMetrics runs a session and reads the metrics: the documented names are there, counted, and no label holds an id.
func TestMetrics(t *testing.T) {
	b := newBundle(t, quick())
	b.reaper()
	p, _ := b.pool(streaming.PoolConfig{}, &engine{took: time.Millisecond})
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
	if _, err := b.store.End(t.Context(), "alice", s.ID, streaming.ReasonDeleted); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
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
		"uptime_seconds", "worker_up", "worker_capacity", "control_messages_total", "sessions"} {
		if counts["telefuser_serving_"+name] <= 0 {
			t.Errorf("%s counts nothing", name)
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
