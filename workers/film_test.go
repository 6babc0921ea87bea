package workers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"telefuser/jobs"
	"telefuser/workers"
	"telefuser/workers/engine"
)

// filmBench has a worker of a small Wan 2.1, of the true structure.
func filmBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.Pipeline, b.Words, b.Stall = "small-film", "small-film", patience
	return b
}

func (b *bench) filmSpec(frames, steps int) jobs.Spec {
	spec := b.spec("a road through hills")
	spec.Width, spec.Height, spec.Frames, spec.Parameters = 64, 32, frames, map[string]any{"num_inference_steps": steps}
	return spec
}

// TestAFilmIsMadeAndMarked goes from a job to a file that plays and says of itself that its pictures mean nothing.
func TestAFilmIsMadeAndMarked(t *testing.T) {
	t.Parallel()
	b := filmBench(t)
	b.worker(nil)
	job := b.completed(b.create(b.filmSpec(17, 2)))
	if got := b.probe(job.Result.VideoKey); got != "h264,64,32,yuv420p,16/1,17" {
		t.Errorf("ffprobe: %s", got)
	}
	var m workers.Manifest
	if err := json.Unmarshal(b.read(job.Result.ManifestKey), &m); err != nil {
		t.Fatal(err)
	}
	for where, mark := range map[string]string{"facts": job.Result.Facts.Weights, "manifest": m.Result.Facts.Weights, "file": b.comment(job.Result.VideoKey)} {
		if !strings.Contains(mark, "random:7") {
			t.Errorf("the %s say %q of the weights", where, mark)
		}
	}
	for _, stage := range []string{"encode", "denoise", "decode"} {
		if job.Result.Facts.StagesNS[stage] <= 0 {
			t.Errorf("stages %v", job.Result.Facts.StagesNS)
		}
	}
	for name, change := range map[string]func(*jobs.Spec){
		"82 frames": func(s *jobs.Spec) { s.Frames = 82 }, "a size": func(s *jobs.Spec) { s.Width = 48 }, "no steps": func(s *jobs.Spec) { s.Parameters["num_inference_steps"] = 0 },
	} {
		spec := b.filmSpec(13, 2)
		change(&spec)
		if job := b.ended(b.create(spec)); job.Failure == nil || job.Failure.Code != jobs.CodeInvalid || job.Attempt != 1 {
			t.Errorf("%s: %s, %+v", name, job.State, job.Failure)
		}
	}
}

// TestAFilmOutlivesItsEngine kills the engine while it denoises: the film is made again, and its bytes are those that it would have had.
func TestAFilmOutlivesItsEngine(t *testing.T) {
	t.Parallel()
	b := filmBench(t)
	b.caretakers()
	b.worker(nil)
	id := b.create(b.filmSpec(13, 150))
	wait(t, "the film to be on its way", func() bool { return b.get(id).Progress > 0 })
	pids := regexp.MustCompile(`engine is loaded" engine_pid=(\d+)`).FindStringSubmatch(b.log.String())
	if pids == nil {
		t.Fatal("no engine is loaded")
	}
	pid, err := strconv.Atoi(pids[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	again := b.completed(id)
	if again.Attempt != 2 {
		t.Errorf("%d attempts", again.Attempt)
	}
	if other := b.completed(b.create(b.filmSpec(13, 150))); other.Attempt != 1 || other.Result.SHA256 != again.Result.SHA256 {
		t.Errorf("in %d attempts the film has other bytes", other.Attempt)
	}
	b.onlyArtifact(id, 2)
}

// TestWeightsThatAreNoneTakeNoJob ends the worker with what is wrong, and leaves its job to others.
func TestWeightsThatAreNoneTakeNoJob(t *testing.T) {
	t.Parallel()
	empty, corrupt := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"config.json": "{}", "diffusion_pytorch_model.safetensors": "?"} {
		if err := os.WriteFile(filepath.Join(corrupt, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{empty, corrupt} {
		b := filmBench(t)
		b.Words += "=" + dir
		id := b.create(b.filmSpec(13, 2))
		w, stop := b.worker(nil)
		wait(t, "the worker to give up", func() bool { return bytes.Contains([]byte(b.log.String()), []byte(dir)) && w.Ready() != nil })
		var unfit *engine.Error
		if err := stop(); !errors.As(err, &unfit) || unfit.Class != engine.ClassInvalid {
			t.Errorf("the worker ends with %v", err)
		}
		if job := b.get(id); job.State != jobs.StateQueued || job.Attempt != 0 {
			t.Errorf("the job is %s after %d attempts", job.State, job.Attempt)
		}
	}
}
