package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"telefuser/jobs"
)

// batchLine is one line of a batch's file.
func batchLine(customID, body string) string {
	return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":"/v1/videos","body":%s}`, customID, body)
}

// batchOf uploads a file and makes a batch of it.
func (s *stack) batchOf(t testing.TB, lines []string, header ...string) map[string]any {
	t.Helper()
	body := form(field("purpose", "batch"), file("file", "in.jsonl", "", []byte(strings.Join(lines, "\n"))))
	upload := s.request(t, "POST", "/v1/files", strings.NewReader(body), append([]string{"Content-Type", "multipart/form-data; boundary=" + boundary}, header...)...)
	id := upload.object(t, 200)["id"]
	return s.postJSON(t, "/v1/batches", map[string]any{"input_file_id": id, "endpoint": "/v1/videos", "completion_window": "24h", "metadata": map[string]string{"a": "b"}}, header...).object(t, 200)
}

func (s *stack) batch(t testing.TB, id any) map[string]any {
	t.Helper()
	return s.request(t, "GET", "/v1/batches/"+id.(string), nil).object(t, 200)
}

// batchEnds waits for a status and checks the counts.
func (s *stack) batchEnds(t testing.TB, id any, status string, completed, failed int) map[string]any {
	t.Helper()
	var b map[string]any
	eventually(t, "the batch is "+status, func() bool {
		b = s.batch(t, id)
		return b["status"] == status
	})
	counts := b["request_counts"].(map[string]any)
	if number(t, counts["completed"]) != float64(completed) || number(t, counts["failed"]) != float64(failed) || b["object"] != "batch" || b["expires_at"] == nil || b[status+"_at"] == nil {
		t.Errorf("ended as %v", b)
	}
	return b
}

// outcome reads one of a batch's files: its lines by custom id.
func (s *stack) outcome(t testing.TB, id any) map[string]map[string]any {
	t.Helper()
	if id == nil {
		return nil
	}
	info := s.request(t, "GET", "/v1/files/"+id.(string), nil).object(t, 200)
	content := s.request(t, "GET", "/v1/files/"+id.(string)+"/content", nil)
	if info["purpose"] != "batch_output" || number(t, info["bytes"]) != float64(len(content.body)) {
		t.Errorf("file %v of %d bytes", info, len(content.body))
	}
	out := map[string]map[string]any{}
	for scan := bufio.NewScanner(bytes.NewReader(content.body)); scan.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		name, _ := line["custom_id"].(string)
		if out[name] != nil || line["id"] == "" {
			t.Errorf("line %v", line)
		}
		out[name] = line
	}
	return out
}

// takers complete every job, but fail those whose prompt says so. They return the prompts that were run.
func (s *stack) takers(t testing.TB, prefix string) func() []string {
	t.Helper()
	var mu sync.Mutex
	var ran []string
	rdb, err := jobs.Connect(t.Context(), jobs.RedisConfig{Addr: redisAddr})
	if err != nil {
		t.Fatal(err)
	}
	store, err := jobs.New(jobs.Config{Prefix: prefix}, rdb, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := store.NewConsumer(jobs.ConsumerConfig{Pipeline: "terrain", Owner: "taker", Slots: 8}, func(ctx context.Context, c *jobs.Claim) {
		mu.Lock()
		ran = append(ran, c.Job.Spec.Prompt)
		mu.Unlock()
		ctx = context.WithoutCancel(ctx)
		if strings.HasPrefix(c.Job.Spec.Prompt, "fail") {
			_ = c.Fail(ctx, jobs.Failure{Code: jobs.CodeStalled, Message: "The job made no progress."})
			return
		}
		_ = c.Complete(ctx, jobs.Result{VideoKey: "videos/" + c.ID, Frames: 77, Seconds: "4.8", SizeBytes: 1})
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); _ = consumer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = store.Close()
		_ = rdb.Close()
	})
	return func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(ran) }
}

// withPrefix tells the prefix of a stack's keys.
func withPrefix(prefix *string) func(*setup) { return func(in *setup) { *prefix = in.jobs.Prefix } }

// TestBatch makes videos of a file: what completes is in the output, the rest in the errors, each line once.
func TestBatch(t *testing.T) {
	var prefix string
	s := newStack(t, withPrefix(&prefix))
	s.takers(t, prefix)
	begun := s.batchOf(t, []string{batchLine("one", `{"model":"terrain","prompt":"a lake"}`), batchLine("two", `{"model":"terrain","prompt":"fail here","priority":"high"}`), "",
		batchLine("three", `{"model":"terrain"}`), batchLine("four", `{"prompt":"a hill","model":"terrain","seed":0}`)})
	if begun["status"] != "validating" || begun["metadata"].(map[string]any)["a"] != "b" || begun["output_file_id"] != nil || begun["errors"] != nil {
		t.Errorf("begun as %v", begun)
	}
	b := s.batchEnds(t, begun["id"], "completed", 2, 2)
	output, errs := s.outcome(t, b["output_file_id"]), s.outcome(t, b["error_file_id"])
	if len(output) != 2 || len(errs) != 2 {
		t.Fatalf("output %v, errors %v", output, errs)
	}
	for name, prompt := range map[string]string{"one": "a lake", "four": "a hill"} {
		response := output[name]["response"].(map[string]any)
		v := response["body"].(map[string]any)
		if response["status_code"] != 200.0 || v["status"] != "completed" || v["prompt"] != prompt || v["priority"] != "low" || output[name]["error"] != nil {
			t.Errorf("%s: %v", name, output[name])
		}
		if got := s.request(t, "GET", "/v1/videos/"+v["id"].(string), nil).object(t, 200); got["status"] != "completed" {
			t.Errorf("%v", got)
		}
	}
	if refused := errs["three"]["response"].(map[string]any); refused["status_code"] != 400.0 || refused["body"].(map[string]any)["error"].(map[string]any)["param"] != "prompt" {
		t.Errorf("three: %v", errs["three"])
	}
	if failed := errs["two"]; failed["error"].(map[string]any)["code"] != "stalled" || failed["response"].(map[string]any)["body"].(map[string]any)["priority"] != "high" {
		t.Errorf("two: %v", failed)
	}
	list := s.request(t, "GET", "/v1/batches?limit=1", nil).object(t, 200)
	if data := list["data"].([]any); len(data) != 1 || data[0].(map[string]any)["id"] != begun["id"] || list["has_more"] != false || list["last_id"] != begun["id"] {
		t.Errorf("listed %v", list)
	}
	if p := s.postJSON(t, "/v1/batches/"+begun["id"].(string)+"/cancel", "{}").problem(t, 409); p["code"] != "batch_ended" {
		t.Errorf("%v", p)
	}
}

// TestBatchOfABadFile ends as failed with every mistake and its line, before any video is made.
func TestBatchOfABadFile(t *testing.T) {
	s := newStack(t)
	good := `{"prompt":"a"}`
	begun := s.batchOf(t, []string{batchLine("one", good), "", "{", batchLine("one", good), `{"custom_id":"x","method":"GET","url":"/v1/videos","body":{}}`,
		`{"custom_id":"y","method":"POST","url":"/v1/chat/completions","body":{}}`, `{"custom_id":"z","method":"POST","url":"/v1/videos"}`,
		`{"method":"POST","url":"/v1/videos","body":{}}`, `{"custom_id":"a","method":"POST","url":"/v1/videos","body":{},"more":1}`})
	b := s.batchEnds(t, begun["id"], "failed", 0, 0)
	var got []string
	for _, row := range b["errors"].(map[string]any)["data"].([]any) {
		got = append(got, fmt.Sprint(row.(map[string]any)["line"], " ", row.(map[string]any)["code"]))
	}
	want := []string{"3 invalid_json_line", "4 duplicate_custom_id", "5 invalid_method", "6 invalid_url", "7 missing_required_parameter", "8 missing_required_parameter", "9 unknown_parameter"}
	if !slices.Equal(got, want) {
		t.Errorf("errors %v", got)
	}
	if data := s.request(t, "GET", "/v1/videos", nil).object(t, 200)["data"].([]any); len(data) != 0 {
		t.Errorf("%d videos", len(data))
	}
	empty := s.batchOf(t, []string{"", " "})
	if b := s.batchEnds(t, empty["id"], "failed", 0, 0); b["errors"].(map[string]any)["data"].([]any)[0].(map[string]any)["code"] != "empty_file" {
		t.Errorf("%v", b)
	}
}

// TestBatchCancel cancels every video that has not ended, and says so of every line.
func TestBatchCancel(t *testing.T) {
	s := newStack(t)
	var lines []string
	for i := range 40 {
		lines = append(lines, batchLine(fmt.Sprint("l", i), `{"prompt":"a"}`))
	}
	begun := s.batchOf(t, lines)
	id, _ := begun["id"].(string)
	eventually(t, "some wait", func() bool {
		return len(s.request(t, "GET", "/v1/videos", nil).object(t, 200)["data"].([]any)) > 0
	})
	for range 2 { // cancelling again is no error
		if b := s.postJSON(t, "/v1/batches/"+id+"/cancel", "{}").object(t, 200); b["status"] != "cancelling" || b["cancelling_at"] == nil {
			t.Errorf("%v", b)
		}
	}
	b := s.batchEnds(t, id, "cancelled", 0, 40)
	errs := s.outcome(t, b["error_file_id"])
	if b["output_file_id"] != nil || len(errs) != 40 {
		t.Errorf("%d lines, %v", len(errs), b)
	}
	for name, line := range errs {
		if line["error"].(map[string]any)["code"] != "batch_cancelled" {
			t.Errorf("%s: %v", name, line)
		}
	}
	for _, v := range s.request(t, "GET", "/v1/videos?limit=100", nil).object(t, 200)["data"].([]any) {
		if v.(map[string]any)["status"] != "failed" {
			t.Errorf("%v is left", v)
		}
	}
}

// TestBatchGoesOnElsewhere stops the server in the middle: another goes on, and no line is made twice.
func TestBatchGoesOnElsewhere(t *testing.T) {
	const lines = 120
	var first setup
	s := newStack(t, func(in *setup) { first = *in })
	var text []string
	for i := range lines {
		text = append(text, batchLine(fmt.Sprint("l", i), fmt.Sprintf(`{"model":"terrain","prompt":"p%d"}`, i)))
	}
	id := s.batchOf(t, text)["id"]
	eventually(t, "some wait", func() bool {
		return len(s.request(t, "GET", "/v1/videos?limit=100", nil).object(t, 200)["data"].([]any)) > 10
	})
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	other := newStack(t, func(in *setup) { in.jobs.Prefix = first.jobs.Prefix }, s.sameStore)
	rdb := redis.NewClient(&redis.Options{Addr: redisAddr, DisableIdentity: true})
	defer func() { _ = rdb.Close() }()
	rdb.ZAddXX(t.Context(), first.jobs.Prefix+":bq", redis.Z{Score: 1, Member: id}) // the lease of the one that is gone
	ran := other.takers(t, first.jobs.Prefix)
	b := other.batchEnds(t, id, "completed", lines, 0)
	if got := ran(); len(got) != lines {
		t.Errorf("%d runs of %d lines", len(got), lines)
	}
	if output := other.outcome(t, b["output_file_id"]); len(output) != lines {
		t.Errorf("%d lines in the output", len(output))
	}
}

// sameStore takes the artifacts of another stack.
func (s *stack) sameStore(in *setup) { in.deps.Store = s.store }

// TestBatchWaitsForRoom takes what the queue refuses for no failure.
func TestBatchWaitsForRoom(t *testing.T) {
	var prefix string
	s := newStack(t, withPrefix(&prefix), func(in *setup) { in.jobs.QueuedMax = 3 })
	var lines []string
	for i := range 7 {
		lines = append(lines, batchLine(fmt.Sprint("l", i), `{"model":"terrain","prompt":"a"}`))
	}
	id := s.batchOf(t, lines)["id"]
	eventually(t, "three wait", func() bool { return len(s.request(t, "GET", "/v1/videos", nil).object(t, 200)["data"].([]any)) == 3 })
	s.takers(t, prefix)
	s.batchEnds(t, id, "completed", 7, 0)
}

// TestBatchExpires ends what a day was not enough for.
func TestBatchExpires(t *testing.T) {
	var prefix string
	s := newStack(t, withPrefix(&prefix))
	id, _ := s.batchOf(t, []string{batchLine("one", `{"prompt":"a"}`)})["id"].(string)
	eventually(t, "it waits", func() bool { return len(s.request(t, "GET", "/v1/videos", nil).object(t, 200)["data"].([]any)) == 1 })
	rdb := redis.NewClient(&redis.Options{Addr: redisAddr, DisableIdentity: true})
	defer func() { _ = rdb.Close() }()
	rdb.HSet(t.Context(), prefix+":b:"+id, "c", time.Now().Add(-24*time.Hour).UnixMilli())
	b := s.batchEnds(t, id, "expired", 0, 1)
	if line := s.outcome(t, b["error_file_id"])["one"]; line["error"].(map[string]any)["code"] != "batch_expired" {
		t.Errorf("%v", line)
	}
}

// TestBatchRequests refuses what is no batch, and shows one tenant's to no other.
func TestBatchRequests(t *testing.T) {
	s := newStack(t, withKeys)
	alice, bob := s.key(t, "alice"), s.key(t, "bob")
	b := s.batchOf(t, []string{batchLine("one", `{"prompt":"a"}`)}, "Authorization", alice)
	id, input := b["id"].(string), b["input_file_id"].(string)
	for _, path := range []string{"/v1/batches/" + id, "/v1/batches/batch_x", "/v1/batches/" + jobs.NewBatchID(time.Now())} {
		if p := s.request(t, "GET", path, nil, "Authorization", bob).problem(t, 404); p["param"] != "batch_id" {
			t.Errorf("%s: %v", path, p)
		}
		s.postJSON(t, path+"/cancel", "{}", "Authorization", bob).problem(t, 404)
	}
	if list := s.request(t, "GET", "/v1/batches", nil, "Authorization", bob).object(t, 200)["data"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
	fields := func(change map[string]any) map[string]any {
		all := map[string]any{"input_file_id": input, "endpoint": "/v1/videos", "completion_window": "24h"}
		for name, value := range change {
			all[name] = value
		}
		return all
	}
	for _, row := range []struct {
		status int
		param  string
		change map[string]any
	}{{404, "input_file_id", map[string]any{"input_file_id": "file-x"}}, {400, "input_file_id", map[string]any{"input_file_id": nil}},
		{400, "endpoint", map[string]any{"endpoint": "/v1/chat/completions"}}, {400, "completion_window", map[string]any{"completion_window": "1h"}},
		{400, "output_expires_after", map[string]any{"output_expires_after": map[string]any{"anchor": "created_at", "seconds": 3600}}},
		{400, "x", map[string]any{"x": 1}}, {400, "metadata", map[string]any{"metadata": 1}}} {
		if p := s.postJSON(t, "/v1/batches", fields(row.change), "Authorization", alice).problem(t, row.status); p["param"] != row.param {
			t.Errorf("%v: %v", row.change, p)
		}
	}
	s.postJSON(t, "/v1/batches", fields(nil), "Authorization", bob).problem(t, 404)
	body := form(field("purpose", "user_data"), file("file", "in.jsonl", "", []byte("x")))
	other := s.request(t, "POST", "/v1/files", strings.NewReader(body), "Content-Type", "multipart/form-data; boundary="+boundary, "Authorization", alice).object(t, 200)["id"]
	s.postJSON(t, "/v1/batches", fields(map[string]any{"input_file_id": other}), "Authorization", alice).problem(t, 400)
}
