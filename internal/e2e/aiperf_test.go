package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// aiperfTimeout bounds one run, most of which AIPerf spends on starting itself.
const aiperfTimeout = 3 * time.Minute

// aiperfRequests is how many videos a run asks for, without the one of its warm-up.
const aiperfRequests = 4

// TestAIPerf lets the real AIPerf measure `telefuser dev`.
func TestAIPerf(t *testing.T) {
	t.Parallel()
	aiperf := filepath.Join(toolsWith(t, "aiperf/bin/aiperf"), "aiperf", "bin", "aiperf")
	dev := startDev(t)
	rows := map[string][]map[string]any{
		"json": {{"text": "A serene lake at sunset"}, {"text": "A cat playing with yarn"}},
		"multipart": {{"text": "A lake from a picture", "extra": map[string]any{"input_reference": map[string]any{
			"b64_data": base64.StdEncoding.EncodeToString(picture(t, 64, 64)), "filename": "first.png", "content_type": "image/png",
		}}}},
	}
	more := map[string][]string{"multipart": {"--request-content-type", "multipart/form-data", "--download-video-content"}}
	for name, lines := range rows {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			input := filepath.Join(dir, "prompts.jsonl")
			writeRows(t, input, lines)
			args := append(aiperfArgs(dev.url, input, filepath.Join(dir, "out"), wordTokenizer(t)), more[name]...)
			p := start(t, spawn{name: "aiperf", path: aiperf, args: args, dir: dir, env: []string{"AIPERF_HTTP_VIDEO_POLL_INTERVAL=0.1", "HOME=" + dir}})
			p.waitEnd(t, aiperfTimeout)
			if p.err != nil {
				t.Fatalf("%v\n%s\n%s", p.err, p.stdout.tail(6000), p.stderr.tail(2000))
			}
			checkAIPerf(t, filepath.Join(dir, "out"))
		})
	}
}

func aiperfArgs(url, input, out, tokenizer string) []string {
	return []string{
		"profile", "--model", "terrain", "--tokenizer", tokenizer, "--url", url, "--endpoint-type", "video_generation",
		"--input-file", input, "--custom-dataset-type", "single_turn",
		"--extra-inputs", "size:64x64", "--extra-inputs", "seconds:1", "--extra-inputs", "seed:42",
		"--warmup-request-count", "1", "--concurrency", "2", "--request-count", strconv.Itoa(aiperfRequests), "--request-timeout-seconds", "120",
		"--server-metrics", url + "/metrics", "--no-gpu-telemetry", "--ui", "none", "--export-level", "records", "--random-seed", "42",
		"--output-artifact-dir", out,
	}
}

// wordTokenizer makes a folder with a tokenizer that takes each word for unknown. AIPerf wants one even where no token is counted, and its
// built-in one is fetched from elsewhere.
func wordTokenizer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tokenizer.json": `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},` +
			`"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0},"unk_token":"[UNK]"}}`,
		"tokenizer_config.json": `{"tokenizer_class":"PreTrainedTokenizerFast","unk_token":"[UNK]"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func writeRows(t *testing.T, path string, rows []map[string]any) {
	t.Helper()
	var b strings.Builder
	for _, row := range rows {
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkAIPerf reads what AIPerf found: every request answered, none with an error, the server's own times and metrics taken in.
func checkAIPerf(t *testing.T, dir string) {
	t.Helper()
	var found map[string]json.RawMessage
	readJSON(t, fileBelow(t, dir, "profile_export_aiperf.json"), &found)
	average := func(name string) float64 {
		var metric struct {
			Average float64 `json:"avg"`
		}
		if raw, ok := found[name]; ok && json.Unmarshal(raw, &metric) == nil {
			return metric.Average
		}
		return 0
	}
	if n := average("request_count"); n != aiperfRequests {
		t.Errorf("request_count is %v, want %d", n, aiperfRequests)
	}
	if n := average("error_request_count"); n != 0 || string(found["error_summary"]) != "[]" && string(found["error_summary"]) != "null" {
		t.Errorf("%v requests with errors: %s", n, found["error_summary"])
	}
	if average("request_latency") <= 0 || average("video_inference_time") <= 0 {
		t.Errorf("latency %v, inference time %v", average("request_latency"), average("video_inference_time"))
	}
	var metrics struct {
		Metrics map[string]any `json:"metrics"`
	}
	readJSON(t, fileBelow(t, dir, "server_metrics_export.json"), &metrics)
	if len(metrics.Metrics) == 0 {
		t.Error("no server metrics were scraped")
	}
}

// fileBelow is the one file of the name below a folder.
func fileBelow(t *testing.T, dir, name string) string {
	t.Helper()
	for _, path := range files(t, dir) {
		if filepath.Base(path) == name {
			return filepath.Join(dir, path)
		}
	}
	t.Fatalf("no %s in %v", name, files(t, dir))
	return ""
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
