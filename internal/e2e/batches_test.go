package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
)

// Batches with the three official SDKs, each in its own words.

func TestBatchesJavaScript(t *testing.T) {
	t.Parallel()
	sdkDir := filepath.Join(toolsWith(t, "js/node_modules/openai/package.json"), "js")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not on PATH: run `make deps-test`, or install the package nodejs")
	}
	env := []string{"BASE_URL=" + startDev(t).url, "SDK_DIR=" + sdkDir}
	runSuite(t, spawn{name: "node", path: node, args: []string{"--test", "--test-reporter=spec", suite(t, "batches.test.mjs")}, env: env})
}

func TestBatchesPython(t *testing.T) {
	t.Parallel()
	python := filepath.Join(toolsWith(t, "py/bin/python"), "py", "bin", "python")
	runSuite(t, spawn{name: "python", path: python, args: []string{suite(t, "test_batches.py")}, env: []string{"BASE_URL=" + startDev(t).url}})
}

func TestBatchesGo(t *testing.T) {
	t.Parallel()
	client := sdk(startDev(t).url, "any")
	ctx := t.Context()
	var lines []string
	for i := range 3 {
		lines = append(lines, fmt.Sprintf(`{"custom_id":"l%d","method":"POST","url":"/v1/videos","body":{"model":"terrain","size":"64x64","num_frames":5,"prompt":"flight %d"}}`, i, i))
	}
	file, err := client.Files.New(ctx, openai.FileNewParams{File: strings.NewReader(strings.Join(lines, "\n")), Purpose: openai.FilePurposeBatch})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := client.Batches.New(ctx, openai.BatchNewParams{InputFileID: file.ID, Endpoint: openai.BatchNewParamsEndpointV1Videos, CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
		Metadata: map[string]string{"by": "go"}})
	if err != nil || batch.Status != openai.BatchStatusValidating || batch.Metadata["by"] != "go" {
		t.Fatalf("%+v, %v", batch, err)
	}
	for deadline := time.Now().Add(2 * time.Minute); batch.Status != openai.BatchStatusCompleted; {
		if batch, err = client.Batches.Get(ctx, batch.ID); err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", batch, err)
		}
	}
	if c := batch.RequestCounts; c.Total != 3 || c.Completed != 3 || c.Failed != 0 || batch.ErrorFileID != "" {
		t.Errorf("%+v", batch)
	}
	content, err := client.Files.Content(ctx, batch.OutputFileID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Body.Close() }()
	text, err := io.ReadAll(content.Body)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var line struct {
			CustomID string `json:"custom_id"`
			Response struct {
				Body openai.Video `json:"body"`
			} `json:"response"`
		}
		if err := json.Unmarshal([]byte(row), &line); err != nil || line.CustomID != fmt.Sprint("l", i) || line.Response.Body.Status != openai.VideoStatusCompleted {
			t.Errorf("%s: %v", row, err)
		}
	}
	pages := client.Batches.ListAutoPaging(ctx, openai.BatchListParams{Limit: openai.Int(1)})
	if !pages.Next() || pages.Current().ID != batch.ID || pages.Err() != nil {
		t.Errorf("the list begins with %+v, %v", pages.Current(), pages.Err())
	}
}
