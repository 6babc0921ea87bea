package workers_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"telefuser/jobs"
	"telefuser/workers"
	"telefuser/workers/engine"
)

func TestAJobBecomesAVideo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.worker(nil)
	id := b.create(b.spec("a secret prompt"))
	job := b.completed(id)
	if got := b.probe(job.Result.VideoKey); got != "h264,64,48,yuv420p,16/1,45" {
		t.Errorf("ffprobe: %s", got)
	}
	if job.Attempt != 1 || job.Owner != "" && job.Owner != "first" {
		t.Errorf("attempt %d by %q", job.Attempt, job.Owner)
	}
	f := job.Result.Facts
	for name, fact := range map[string]*int64{"queue": f.QueueNS, "load": f.LoadNS, "inference": f.InferenceNS, "encode": f.EncodeNS, "store": f.StoreNS,
		"memory": f.PeakMemoryBytes} {
		if fact == nil || *fact < 0 {
			t.Errorf("%s: %v", name, fact)
		}
	}
	if f.StagesNS["generate"] <= 0 {
		t.Errorf("stages %v", f.StagesNS)
	}
	if webp := b.read(job.Result.ThumbnailKey); string(webp[:4]) != "RIFF" || string(webp[8:12]) != "WEBP" {
		t.Error("the thumbnail is no WebP")
	}
	if jpeg := b.read(job.Result.SpritesheetKey); jpeg[0] != 0xff || jpeg[1] != 0xd8 {
		t.Error("the spritesheet is no JPEG")
	}
	var m workers.Manifest
	if err := json.Unmarshal(b.read(job.Result.ManifestKey), &m); err != nil {
		t.Fatal(err)
	}
	if m.ID != id || m.Tenant != "acme" || m.ContractName != "scripted" || m.ContractVersion == "" || m.Result.SHA256 != job.Result.SHA256 ||
		m.Spec.Prompt != "a secret prompt" || m.Objects["video.mp4"].SHA256 != job.Result.SHA256 || m.CompletedAt.Before(m.StartedAt) {
		t.Errorf("manifest %+v", m)
	}
	b.onlyArtifact(id, 1)
	b.noTemp()
	if log := b.log.String(); strings.Contains(log, "secret") || !strings.Contains(log, "request_id=req_test") {
		t.Error("the log holds the prompt, or does not hold the request id")
	}
}

func TestFailuresAreJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prompt string
		// code is the failure's, "" where the job completes in the end.
		code    string
		attempt int
	}{
		{"fail=invalid@open", jobs.CodeInvalid, 1},
		{"fail=invalid@1", jobs.CodeInvalid, 1},
		{"fail=internal@1", jobs.CodeInternal, 1},
		{"frames=29", jobs.CodeInternal, 1},
		{"frames=61", jobs.CodeInternal, 1},
		{"fail=oom@1", jobs.CodeOutOfMemory, 2},
		{"fail=oom@1 once=ONCE", "", 2},
		{"fail=device@1 once=ONCE", "", 2},
		{"crash@1", jobs.CodeWorkerCrashed, 3},
		{"crash@1 once=ONCE", "", 2},
		{"hang@1 deaf", jobs.CodeStalled, 2},
		{"hang@1 deaf once=ONCE", "", 2},
	} {
		t.Run(c.prompt, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.caretakers()
			b.worker(nil)
			prompt := strings.ReplaceAll(c.prompt, "ONCE", filepath.Join(t.TempDir(), "once"))
			id := b.create(b.spec(prompt))
			next := b.create(b.spec("the next job"))
			job := b.ended(id)
			if c.code == "" {
				b.completed(id)
				b.onlyArtifact(id, c.attempt)
			} else if job.State != jobs.StateFailed || job.Failure.Code != c.code {
				t.Errorf("%s, %+v", job.State, job.Failure)
			}
			if job.Attempt != c.attempt {
				t.Errorf("%d attempts, want %d", job.Attempt, c.attempt)
			}
			if job := b.completed(next); job.Attempt != 1 {
				t.Errorf("the next job needed %d attempts", job.Attempt)
			}
			b.noTemp()
		})
	}
}

func TestCancelFreesTheEngine(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"step_ms=100", "hang@1 deaf"} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.caretakers()
			b.worker(nil)
			spec := b.spec(prompt)
			spec.Frames = 1901
			id := b.create(spec)
			wait(t, "progress", func() bool { return b.get(id).Phase == "generating" && b.get(id).State == jobs.StateInProgress })
			next := b.create(b.spec("the next job"))
			cancelled := time.Now()
			if _, err := b.records.Cancel(t.Context(), "acme", id); err != nil {
				t.Fatal(err)
			}
			wait(t, "the next job", func() bool { return b.get(next).State != jobs.StateQueued })
			// A deaf engine is killed after 1.2 s and starts anew; a busy machine comes on top.
			if took := time.Since(cancelled); took > 8*time.Second {
				t.Errorf("the next job began after %s", took)
			}
			b.completed(next)
			if job := b.get(id); job.State != jobs.StateFailed || job.Failure.Code != jobs.CodeCancelled || job.Attempt != 1 {
				t.Errorf("%+v", job)
			}
			wait(t, "no objects", func() bool { return len(b.keys(id)) == 0 })
			b.noTemp()
		})
	}
}

// TestProgressMovesBeforeTheFirstChunk because a model that denoises a whole video gives nothing for minutes.
func TestProgressMovesBeforeTheFirstChunk(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.caretakers()
	b.Stall = patience
	b.worker(nil)
	id := b.create(b.spec("moved=40 hang@0"))
	wait(t, "progress", func() bool { return b.get(id).Progress > 0 })
	if job := b.get(id); job.Progress != 36 || job.Phase != "generating" {
		t.Errorf("progress %d while %s", job.Progress, job.Phase)
	}
	if _, err := b.records.Cancel(t.Context(), "acme", id); err != nil {
		t.Fatal(err)
	}
	b.completed(b.create(b.spec("moved=40")))
}

func TestTheRunDeadlineDoesNotCountLoading(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Words, b.RunTime = "load_ms=1500", time.Second
	b.worker(nil)
	b.completed(b.create(b.spec("quick")))
	slow := b.spec("step_ms=200")
	slow.Frames = 1901
	if job := b.ended(b.create(slow)); job.Failure == nil || job.Failure.Code != jobs.CodeDeadline {
		t.Errorf("%s, %+v", job.State, job.Failure)
	}
}

func TestJobsWaitInTheQueueWhileTheEngineLoads(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Words = "hang@load"
	w, stop := b.worker(nil)
	id := b.create(b.spec("patient"))
	wait(t, "the engine", func() bool { return strings.Contains(b.log.String(), "engine is loading") })
	if job := b.get(id); job.State != jobs.StateQueued || !errors.Is(w.Ready(), workers.ErrNotReady) {
		t.Errorf("%s while loading, ready: %v", job.State, w.Ready())
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestJobsWaitInTheQueueWhileTheEngineStartsAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Words, b.Jobs.DeathsMax = "load_ms=1000", 1
	var err error
	if b.records, b.client, err = b.setup.records(b.logger()); err != nil {
		t.Fatal(err)
	}
	b.worker(nil)
	killer, next := b.create(b.spec("crash@1")), b.create(b.spec("next"))
	b.ended(killer)
	wait(t, "the second load", func() bool { return strings.Count(b.log.String(), "share=0\n") == 2 })
	if job := b.get(next); job.State != jobs.StateQueued {
		t.Errorf("the next job is %s while nobody can run it", job.State)
	}
	b.completed(next)
}

func TestDrainHandsARunningJobBackUncharged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Grace = 300 * time.Millisecond
	_, stop := b.worker(nil)
	spec := b.spec("hang@1 deaf")
	id := b.create(spec)
	wait(t, "the run", func() bool { return b.get(id).Progress > 0 })
	began := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the drain took %s", took)
	}
	if job := b.get(id); job.State != jobs.StateQueued || job.Attempt != 1 {
		t.Errorf("%s, attempt %d", job.State, job.Attempt)
	}
	b.noTemp()
}

func TestDrainLetsARunningJobFinish(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Grace = patience
	_, stop := b.worker(nil)
	id := b.create(b.spec("step_ms=300"))
	wait(t, "the run", func() bool { return b.get(id).State == jobs.StateInProgress })
	late := b.create(b.spec("too late"))
	if err := stop(); err != nil {
		t.Error(err)
	}
	if job := b.get(id); job.State != jobs.StateCompleted || job.Attempt != 1 {
		t.Errorf("%s, attempt %d", job.State, job.Attempt)
	}
	if job := b.get(late); job.State != jobs.StateQueued || job.Attempt != 0 {
		t.Errorf("the late job is %s, attempt %d", job.State, job.Attempt)
	}
}

func TestIdleExit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Idle, b.Words = 500*time.Millisecond, "load_ms=700"
	w, _ := b.worker(nil)
	// Neither the load nor a job that is longer than the idle time counts as idle.
	long, second := b.create(b.spec("step_ms=400")), b.create(b.spec("second"))
	b.completed(long)
	b.completed(second)
	wait(t, "the end of the idle worker", func() bool { return errors.Is(w.Ready(), workers.ErrNotReady) })
	if b.get(b.create(b.spec("nobody is there"))).State != jobs.StateQueued {
		t.Error("somebody took it")
	}
}

func TestJobsMaxIsExact(t *testing.T) {
	t.Parallel()
	for _, engines := range []int{1, 2} {
		t.Run(strconv.Itoa(engines), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Engines, b.JobsMax = engines, 3
			var ids []string
			for range 5 {
				ids = append(ids, b.create(b.spec("step_ms=50")))
			}
			w, stop := b.worker(nil)
			wait(t, "the worker", func() bool { return w.Ready() == nil })
			wait(t, "the end of the worker", func() bool { return errors.Is(w.Ready(), workers.ErrNotReady) })
			if err := stop(); err != nil {
				t.Error(err)
			}
			var done, queued int
			for _, id := range ids {
				switch b.get(id).State {
				case jobs.StateCompleted:
					done++
				case jobs.StateQueued:
					queued++
				default:
				}
			}
			if done != 3 || queued != 2 {
				t.Errorf("%d completed and %d queued, want 3 and 2", done, queued)
			}
		})
	}
}

func TestTwoEnginesWorkAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Engines = 2
	b.worker(nil)
	first, second := b.create(b.spec("step_ms=300")), b.create(b.spec("step_ms=300"))
	wait(t, "both at once", func() bool {
		return b.get(first).State == jobs.StateInProgress && b.get(second).State == jobs.StateInProgress
	})
	b.completed(first)
	b.completed(second)
}

// fewLosses has a slot end soon after its device is lost, in place of trying for ever.
func fewLosses(c *workers.Config) {
	for i := range c.Engines {
		c.Engines[i].DeviceLostMax, c.Engines[i].DeviceBackoffMin = 2, 10*time.Millisecond
	}
}

func TestALostDeviceEndsItsSlotAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Engines = 2
	_, stop := b.worker(func(c *workers.Config) {
		fewLosses(c)
		c.Engines[0].Command = slices.Clone(c.Engines[0].Command)
		c.Engines[0].Command[2] = "fail=device@load"
	})
	wait(t, "the lost slot", func() bool { return strings.Contains(b.log.String(), "slot ended") })
	b.completed(b.create(b.spec("the other engine lives")))
	if err := stop(); !errors.Is(err, engine.ErrDeviceLost) {
		t.Errorf("got %v", err)
	}
}

func TestTheWorkerEndsWhenItsOnlyDeviceIsLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Words = "fail=device@1"
	w, stop := b.worker(fewLosses)
	wait(t, "the worker", func() bool { return w.Ready() == nil })
	id := b.create(b.spec("unlucky"))
	wait(t, "the end of the worker", func() bool { return strings.Contains(b.log.String(), "slot ended") })
	if !errors.Is(w.Ready(), workers.ErrNotReady) {
		t.Error("ready without a slot")
	}
	if err := stop(); !errors.Is(err, engine.ErrDeviceLost) {
		t.Errorf("got %v", err)
	}
	// The device failed twice, and the job waits for another machine.
	if job := b.get(id); job.State != jobs.StateQueued || job.Attempt != 2 {
		t.Errorf("%s, attempt %d", job.State, job.Attempt)
	}
}

func TestALostDeviceIsTriedAgainLater(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Words = "fail=device@1 once=" + filepath.Join(t.TempDir(), "struck")
	var mu sync.Mutex
	var marks []bool
	w, _ := b.worker(func(c *workers.Config) {
		c.Engines[0].DeviceBackoffMin = 300 * time.Millisecond
		c.Engines[0].OnAside = func(aside bool) {
			mu.Lock()
			defer mu.Unlock()
			marks = append(marks, aside)
		}
	})
	wait(t, "the worker", func() bool { return w.Ready() == nil })
	id := b.create(b.spec("unlucky once"))
	wait(t, "a device set aside", func() bool { return errors.Is(w.Ready(), workers.ErrNotReady) })
	wait(t, "the device's return", func() bool { return w.Ready() == nil })
	b.completed(id)
	if job := b.get(id); job.Attempt != 2 {
		t.Errorf("attempt %d", job.Attempt)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(marks, []bool{true, false}) {
		t.Errorf("marks %v", marks)
	}
}

func TestAMissingEncoderIsFoundAtStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(b.spec("waits"))
	_, stop := b.worker(func(c *workers.Config) { c.FFmpeg.Path = "/nonexistent/ffmpeg" })
	if err := stop(); err == nil || !strings.Contains(err.Error(), "encoder") {
		t.Errorf("got %v", err)
	}
	if b.get(id).Attempt != 0 {
		t.Error("a job was taken")
	}
}

func TestExtensionsAreJoined(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.worker(nil)
	first := b.completed(b.create(b.spec("world")))
	spec := b.spec("and on")
	spec.Task, spec.WorldPrompt, spec.Frames, spec.Seconds = "extend", "world", 16, "4"
	spec.Source = &jobs.Source{ID: first.ID, VideoKey: first.Result.VideoKey, State: first.Result.State, Frames: first.Result.Frames}
	job := b.completed(b.create(spec))
	if got := b.probe(job.Result.VideoKey); got != "h264,64,48,yuv420p,16/1,61" || job.Result.Frames != 61 {
		t.Errorf("ffprobe: %s, record: %d frames", got, job.Result.Frames)
	}
	if job.Result.Facts.Weights != "" {
		t.Errorf("weights are %q", job.Result.Facts.Weights)
	}
	spec.Source.Weights = "random:9"
	marked := b.completed(b.create(spec))
	if marked.Result.Facts.Weights != "random:9" || !strings.Contains(b.comment(marked.Result.VideoKey), "weights random:9") {
		t.Errorf("what goes on from pictures that mean nothing has weights %q and the comment %q", marked.Result.Facts.Weights, b.comment(marked.Result.VideoKey))
	}
	spec.Source.VideoKey = "videos/nowhere/1/video.mp4"
	if job := b.ended(b.create(spec)); job.Failure == nil || job.Failure.Code != jobs.CodeSourceMissing {
		t.Errorf("missing source: %s, %+v", job.State, job.Failure)
	}
}

func TestLeftoversOfDeadWorkersAreSwept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dead := filepath.Join(b.Temp, "attempt-dead")
	if err := os.MkdirAll(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dead, ".lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	living, err := engine.NewPrivateDir(b.Temp, "attempt-")
	if err != nil {
		t.Fatal(err)
	}
	defer living.Remove()
	w, _ := b.worker(nil)
	wait(t, "the worker", func() bool { return w.Ready() == nil })
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead one: %v", err)
	}
	if _, err := os.Stat(living.Path); err != nil {
		t.Errorf("the living one: %v", err)
	}
}

func TestAFullDiskFailsTheJobAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := os.MkdirAll(b.Temp, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", b.Temp, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting a small disk needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(b.Temp, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(b.Temp, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	b.worker(nil)
	job := b.ended(b.create(b.spec("no room")))
	if job.Failure == nil || job.Failure.Code != jobs.CodeStorage {
		t.Errorf("%s, %+v", job.State, job.Failure)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	b.completed(b.create(b.spec("room again")))
}

func TestWorkersAreSeen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, stop := b.worker(nil)
	seen := func() int {
		list, err := b.records.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	wait(t, "the worker's sign of life", func() bool { return seen() == 1 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	if seen() != 0 {
		t.Error("the worker left without a word")
	}
}

func TestHooksPassInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var order []workers.Point
	var passed atomic.Int32
	hooks := workers.Hooks{}
	points := []workers.Point{workers.PointClaimed, workers.PointHalf, workers.PointEncoding, workers.PointUploading,
		workers.PointBeforeCommit, workers.PointAfterCommit}
	for _, p := range points {
		hooks[p] = func() {
			order = append(order, p)
			passed.Add(1)
		}
	}
	_, stop := b.worker(func(c *workers.Config) { c.Hooks = hooks })
	b.completed(b.create(b.spec("hooks")))
	wait(t, "the last hook", func() bool { return int(passed.Load()) == len(points) })
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !slices.Equal(order, points) {
		t.Errorf("passed %v", order)
	}
}

func TestAPanicCostsOneAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.caretakers()
	var struck atomic.Bool
	b.worker(func(c *workers.Config) {
		c.Hooks = workers.Hooks{workers.PointHalf: func() {
			if !struck.Swap(true) {
				panic("a defect")
			}
		}}
	})
	id := b.create(b.spec("unlucky"))
	if job := b.completed(id); job.Attempt != 2 {
		t.Errorf("%d attempts", job.Attempt)
	}
	b.onlyArtifact(id, 2)
	b.noTemp()
}
