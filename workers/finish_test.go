package workers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"telefuser/jobs"
	"telefuser/workers"
)

// TestAnEncoderThatHangsAtTheEndFailsTheJob and frees the slot: the frames are made, so no stall of the engine tells of it.
func TestAnEncoderThatHangsAtTheEndFailsTheJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := t.TempDir()
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Fatal(err)
	}
	hang, mark := filepath.Join(dir, "ffmpeg"), filepath.Join(dir, "mark")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *webp*) if [ -e %s ]; then exec sleep 600; fi;; esac\nexec %s \"$@\"\n", mark, program)
	if err := os.WriteFile(hang, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	b.worker(func(c *workers.Config) {
		c.FFmpeg.Path, c.FinishTimeout = hang, 500*time.Millisecond
		c.Hooks = workers.Hooks{workers.PointEncoding: func() {
			if err := os.WriteFile(mark, nil, 0o600); err != nil {
				t.Error(err)
			}
		}}
	})
	if job := b.ended(b.create(b.spec("slow to end"))); job.Failure == nil || job.Failure.Code != jobs.CodeDeadline {
		t.Errorf("%s, %+v", job.State, job.Failure)
	}
}
