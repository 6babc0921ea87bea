package pipeline_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"telefuser/workers/pipeline"
)

func openScripted(t *testing.T, words, prompt string) (pipeline.Session, error) {
	t.Helper()
	req := request(45)
	req.Prompt = prompt
	return pipeline.NewScripted(words).Open(t.Context(), req)
}

// run takes chunks until something happens and answers how many came.
func run(t *testing.T, ctx context.Context, words, prompt string) (frames int, err error) {
	t.Helper()
	session, err := openScripted(t, words, prompt)
	if err != nil {
		return 0, err
	}
	for {
		chunk, err := session.Next(ctx)
		if err != nil {
			return frames, err
		}
		frames += len(chunk.Frames)
	}
}

func TestScriptedFaults(t *testing.T) {
	for _, test := range []struct {
		words, prompt string
		frames        int
		want          error
	}{
		{"", "a quiet day", 45, io.EOF},
		{"", "frames=29", 29, io.EOF},
		{"frames=5", "", 5, io.EOF},
		{"frames=5", "frames=14", 14, io.EOF},
		{"", "fail=oom@2", 29, pipeline.ErrOutOfMemory},
		{"", "fail=device@0", 0, pipeline.ErrDeviceLost},
		{"", "fail=invalid@1", 13, pipeline.ErrInvalid},
		{"fail=oom@open", "", 0, pipeline.ErrOutOfMemory},
		{"", "fail=fire@1", 0, pipeline.ErrInvalid},
		{"", "explode@1", 0, pipeline.ErrInvalid},
		{"", "hang@-1", 0, pipeline.ErrInvalid},
		{"", "step_ms=soon", 0, pipeline.ErrInvalid},
	} {
		frames, err := run(t, t.Context(), test.words, test.prompt)
		if frames != test.frames || !errors.Is(err, test.want) {
			t.Errorf("%q %q: %d frames and %v, want %d and %v", test.words, test.prompt, frames, err, test.frames, test.want)
		}
	}
	if _, err := run(t, t.Context(), "", "fail=internal@0"); err == nil || errors.Is(err, pipeline.ErrInvalid) || errors.Is(err, io.EOF) {
		t.Errorf("an internal fault is %v", err)
	}
}

func TestScriptedLoad(t *testing.T) {
	if err := pipeline.NewScripted("fail=oom@load").Load(t.Context(), func(float64) {}); !errors.Is(err, pipeline.ErrOutOfMemory) {
		t.Errorf("Load: %v", err)
	}
	started := time.Now()
	if err := pipeline.NewScripted("load_ms=30").Load(t.Context(), func(float64) {}); err != nil || time.Since(started) < 30*time.Millisecond {
		t.Errorf("Load: %v after %v", err, time.Since(started))
	}
}

func TestScriptedHangHearsItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, errors.New("enough"))
	defer cancel()
	if frames, err := run(t, ctx, "", "hang@1"); frames != 13 || err == nil || err.Error() != "enough" {
		t.Errorf("%d frames and %v", frames, err)
	}
}

func TestScriptedDeafWaitsTheStepOut(t *testing.T) {
	session, err := openScripted(t, "", "step_ms=40 deaf")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	started := time.Now()
	if _, err := session.Next(ctx); err != nil || time.Since(started) < 40*time.Millisecond {
		t.Errorf("Next answers %v after %v", err, time.Since(started))
	}
}

func TestScriptedFaultStrikesOnce(t *testing.T) {
	once := "once=" + filepath.Join(t.TempDir(), "struck")
	if _, err := run(t, t.Context(), "", "fail=oom@1 "+once); !errors.Is(err, pipeline.ErrOutOfMemory) {
		t.Errorf("first: %v", err)
	}
	if frames, err := run(t, t.Context(), "", "fail=oom@1 "+once); frames != 45 || !errors.Is(err, io.EOF) {
		t.Errorf("second: %d frames and %v", frames, err)
	}
}

func TestScriptedPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_, _ = run(t, t.Context(), "", "panic@1")
}

// TestScriptedCrashEndsTheProcess runs itself in a process of its own.
func TestScriptedCrashEndsTheProcess(t *testing.T) {
	const place = "-test.run=^TestScriptedCrashEndsTheProcess$"
	if os.Args[len(os.Args)-1] == "crash-here" {
		_, _ = run(t, t.Context(), "", "crash=7@1")
		return
	}
	var exit *exec.ExitError
	if err := exec.Command(os.Args[0], place, "crash-here").Run(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the process ends with %v", err)
	}
}
