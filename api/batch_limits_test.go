package api_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestBatchFileMayBeLarge takes more than any other file may have, whichever part comes first, and refuses the same under another purpose.
func TestBatchFileMayBeLarge(t *testing.T) {
	s := newStack(t)
	line := batchLine("one", `{"model":"terrain","prompt":"a lake"}`) + "\n"
	text := append(bytes.Repeat([]byte{'\n'}, 21<<20), line...)
	content, purpose := file("file", "in.jsonl", "", text), func(p string) part { return field("purpose", p) }
	for name, parts := range map[string][]part{"purpose first": {purpose("batch"), content}, "file first": {content, purpose("batch")}} {
		input := s.postForm(t, "/v1/files", parts...).object(t, 200)
		if number(t, input["bytes"]) != float64(len(text)) {
			t.Errorf("%s: %v", name, input)
		}
		b := s.postJSON(t, "/v1/batches", map[string]any{"input_file_id": input["id"], "endpoint": "/v1/videos", "completion_window": "24h"}).object(t, 200)
		eventually(t, name+": its line is a video", func() bool {
			counts := s.batch(t, b["id"])["request_counts"].(map[string]any)
			return number(t, counts["total"]) == 1 && len(s.request(t, "GET", "/v1/videos", nil).object(t, 200)["data"].([]any)) > 0
		})
	}
	for name, parts := range map[string][]part{"purpose first": {purpose("user_data"), content}, "file first": {content, purpose("user_data")}} {
		if p := s.postForm(t, "/v1/files", parts...).problem(t, 413); p["param"] != "file" || !strings.Contains(fmt.Sprint(p["message"]), "20971520") {
			t.Errorf("%s: %v", name, p)
		}
	}
	if keys := s.objects(t); len(keys) != 2 {
		t.Errorf("objects %v", keys)
	}
}

// TestBatchLineThatIsTooLong ends the batch with its number, and reads on behind it.
func TestBatchLineThatIsTooLong(t *testing.T) {
	s := newStack(t)
	long := batchLine("long", `{"prompt":"`+strings.Repeat("a", 28<<20)+`"}`)
	begun := s.batchOf(t, []string{batchLine("one", `{"prompt":"a"}`), long, "{"})
	b := s.batchEnds(t, begun["id"], "failed", 0, 0)
	var got []string
	for _, row := range b["errors"].(map[string]any)["data"].([]any) {
		got = append(got, fmt.Sprint(row.(map[string]any)["line"], " ", row.(map[string]any)["code"]))
	}
	if fmt.Sprint(got) != "[2 line_too_long 3 invalid_json_line]" {
		t.Errorf("errors %v", got)
	}
}

// TestBatchHasTooManyLines is found before the last of them is read.
func TestBatchHasTooManyLines(t *testing.T) {
	s := newStack(t)
	lines := make([]string, 50_001)
	for i := range lines {
		lines[i] = batchLine(fmt.Sprint(i), `{}`)
	}
	b := s.batchEnds(t, s.batchOf(t, append(lines, "{"))["id"], "failed", 0, 0)
	if rows := b["errors"].(map[string]any)["data"].([]any); len(rows) != 1 || rows[0].(map[string]any)["code"] != "too_many_lines" {
		t.Errorf("errors %v", rows)
	}
}

// TestEqualBatchRequestsMakeOne sends a create again, by key and as an SDK does that lost the answer.
func TestEqualBatchRequestsMakeOne(t *testing.T) {
	s := newStack(t)
	input := s.postForm(t, "/v1/files", field("purpose", "batch"), file("file", "in.jsonl", "", []byte("x"))).object(t, 200)["id"]
	post := func(metadata string, header ...string) reply {
		return s.postJSON(t, "/v1/batches", map[string]any{"input_file_id": input, "endpoint": "/v1/videos", "completion_window": "24h", "metadata": map[string]string{"a": metadata}}, header...)
	}
	first := post("b", "Idempotency-Key", "k").object(t, 200)["id"]
	if again := post("b", "Idempotency-Key", "k", "X-Stainless-Retry-Count", "1").object(t, 200)["id"]; again != first {
		t.Errorf("with a key: %v and %v", first, again)
	}
	if r := post("c", "Idempotency-Key", "k"); r.problem(t, 409)["code"] != "idempotency_mismatch" || r.header.Get("X-Should-Retry") != "false" {
		t.Errorf("other fields: %s", r.body)
	}
	if p := post("b", "Idempotency-Key", "").problem(t, 400); p["param"] != "Idempotency-Key" {
		t.Errorf("%v", p)
	}
	plain := post("b", "X-Stainless-Retry-Count", "0").object(t, 200)["id"]
	if again := post("b", "X-Stainless-Retry-Count", "1").object(t, 200)["id"]; again != plain || plain == first {
		t.Errorf("without a key: %v, %v, %v", first, plain, again)
	}
	if n := len(s.request(t, "GET", "/v1/batches", nil).object(t, 200)["data"].([]any)); n != 2 {
		t.Errorf("%d batches", n)
	}
}

// TestBatchMetrics counts what became of batches and of their lines.
func TestBatchMetrics(t *testing.T) {
	var prefix string
	s := newStack(t, withPrefix(&prefix))
	s.takers(t, prefix)
	s.batchEnds(t, s.batchOf(t, []string{batchLine("one", `{"model":"terrain","prompt":"a lake"}`), batchLine("two", `{}`)})["id"], "completed", 1, 1)
	s.batchEnds(t, s.batchOf(t, []string{"{"})["id"], "failed", 0, 0)
	scrape := string(s.request(t, "GET", "/metrics", nil).body)
	for _, want := range []string{`telefuser_batches_total{status="validating"} 2`, `telefuser_batches_total{status="completed"} 1`, `telefuser_batches_total{status="failed"} 1`,
		`telefuser_batch_lines_total{result="accepted"} 1`, `telefuser_batch_lines_total{result="refused"} 1`} {
		if !strings.Contains(scrape, want) {
			t.Errorf("no %s", want)
		}
	}
}
