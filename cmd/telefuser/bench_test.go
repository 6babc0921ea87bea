package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"telefuser/internal/bench"
	"telefuser/internal/devstack"
)

// benchProgram builds the program, which the benchmarks start anew for every role.
func benchProgram(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the benchmarks read /proc")
	}
	if _, err := devstack.LookTool("redis-server"); errors.Is(err, devstack.ErrNoTool) {
		t.Skip("redis-server is not installed")
	}
	path := filepath.Join(t.TempDir(), "telefuser")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// benchJSON runs one benchmark, small, and decodes what it prints.
func benchJSON(t *testing.T, program string, into any, args ...string) {
	t.Helper()
	// A name shorter than t.TempDir's: the engine's socket must fit into the 108 bytes of a socket's path.
	dir, err := os.MkdirTemp("", "bench") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	all := append([]string{"bench"}, args...)
	out, err := exec.CommandContext(t.Context(), program, append(all, "--json", "--dir", dir)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v: %v: %s", args, err, exit.Stderr)
		}
		t.Fatalf("%v: %v", args, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v left %v behind, %v", args, left, err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("%v printed %s: %v", args, out, err)
	}
}

func TestBenchMeasuresAStackOfItsOwn(t *testing.T) {
	program := benchProgram(t)
	clean := func(t *testing.T, runs []bench.Run, want int) {
		t.Helper()
		if len(runs) != want {
			t.Errorf("%d runs, want %d", len(runs), want)
		}
		for _, r := range runs {
			if !r.Result.Clean() || r.Result.Total.Requests == 0 || len(r.Processes) != 3 {
				t.Errorf("%s: %+v, errors %v, %d processes", r.Name, r.Result.Total, r.Result.Errors, len(r.Processes))
			}
		}
	}
	t.Run("api", func(t *testing.T) {
		var runs []bench.Run
		benchJSON(t, program, &runs, "api", "--rate", "100", "--duration", "200ms", "--warmup", "50ms", "--records", "10", "--auth")
		clean(t, runs, 4)
		runs = nil
		benchJSON(t, program, &runs, "api", "--kind", "get", "--rate", "100", "--duration", "200ms", "--warmup", "50ms", "--records", "10", "--readers", "2")
		clean(t, runs, 2)
	})
	t.Run("backlog", func(t *testing.T) {
		var result bench.BacklogResult
		benchJSON(t, program, &result, "backlog", "--few", "10", "--queued", "1000", "--stored", "1100",
			"--post-rate", "50", "--get-rate", "50", "--list-rate", "50", "--duration", "200ms", "--warmup", "50ms")
		clean(t, result.Runs, 6)
		if result.RedisBytesPerJob < 100 {
			t.Errorf("%g bytes for each job, want some", result.RedisBytesPerJob)
		}
	})
	t.Run("memory", func(t *testing.T) {
		var results []struct {
			OverIdleBytes int64               `json:"over_idle_bytes"`
			Uploads       *bench.UploadResult `json:"uploads"`
			Readers       *bench.ReaderResult `json:"readers"`
		}
		benchJSON(t, program, &results, "memory", "--uploads", "2", "--rounds", "1", "--upload-mb", "1", "--readers", "2", "--read-for", "500ms")
		if len(results) != 3 || len(results[0].Uploads.Errors)+len(results[1].Uploads.Errors)+len(results[2].Readers.Errors) != 0 || results[2].Readers.BytesMin == 0 {
			t.Errorf("%+v, want three measurements without errors", results)
		}
	})
	t.Run("relay", func(t *testing.T) {
		if _, err := devstack.LookTool("livekit-server"); errors.Is(err, devstack.ErrNoTool) {
			t.Skip("livekit-server is not there: make tools-live")
		}
		var result struct {
			Viewers []struct{ Frames, Missing int } `json:"viewers"`
		}
		benchJSON(t, program, &result, "relay", "--sessions", "2", "--duration", "1s", "--warmup", "500ms", "--size", "160x96")
		if len(result.Viewers) != 4 {
			t.Fatalf("%d viewers, want 2 of 2 streams each", len(result.Viewers))
		}
		for _, v := range result.Viewers {
			if v.Frames < 12 || v.Frames > 36 {
				t.Errorf("%d frames in a second of 24", v.Frames)
			}
		}
	})
	t.Run("start", func(t *testing.T) {
		var result struct {
			Dev []struct {
				ReadyMS  float64 `json:"ready_ms"`
				RSSBytes int64   `json:"rss_bytes"`
			} `json:"dev"`
			APIRSSBytes int64 `json:"api_rss_bytes"`
		}
		benchJSON(t, program, &result, "start", "--runs", "1", "--idle", "10ms")
		if len(result.Dev) != 1 || result.Dev[0].ReadyMS < 1 || result.Dev[0].RSSBytes < 1<<20 || result.APIRSSBytes < 1<<20 {
			t.Errorf("%+v", result)
		}
	})
	t.Run("soak", func(t *testing.T) {
		if _, err := exec.LookPath("ffmpeg"); err != nil {
			t.Skip("ffmpeg is not installed")
		}
		out, err := exec.CommandContext(t.Context(), program, "bench", "soak", "--duration", "2s", "--window", "1s", "--fault-every", "150ms", "--rate", "50", "--json").Output()
		var result struct {
			Windows []struct {
				Faults []string `json:"faults"`
			} `json:"windows"`
			Created, Completed int64
		}
		// Its bars are not for a busy machine; that every video is complete, whatever broke, is.
		if jsonErr := json.Unmarshal(out, &result); jsonErr != nil || len(result.Windows) < 2 || len(result.Windows[0].Faults) == 0 || result.Created < 100 || result.Completed != result.Created {
			t.Errorf("%+v, %v, %v", result, jsonErr, err)
		}
	})
	t.Run("dispatch", func(t *testing.T) {
		if _, err := exec.LookPath("ffmpeg"); err != nil {
			t.Skip("ffmpeg is not installed")
		}
		var result struct {
			Jobs    int             `json:"jobs"`
			StartMS bench.Quantiles `json:"accepted_to_started_ms"`
		}
		benchJSON(t, program, &result, "dispatch", "--jobs", "3")
		if result.Jobs != 3 || result.StartMS.Max == nil {
			t.Errorf("%+v, want three jobs", result)
		}
	})
	t.Run("video", func(t *testing.T) {
		if _, err := exec.LookPath("ffmpeg"); err != nil {
			t.Skip("ffmpeg is not installed")
		}
		var result struct {
			Videos []struct {
				FPS float64 `json:"frames_per_second"`
			} `json:"videos"`
		}
		benchJSON(t, program, &result, "video", "--runs", "1", "--frames", "5", "--size", "64x64")
		if len(result.Videos) != 1 || result.Videos[0].FPS <= 0 {
			t.Errorf("%+v, want one video", result)
		}
	})
}
