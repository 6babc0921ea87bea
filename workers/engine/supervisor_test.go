package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"telefuser/workers/engine"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// bench is one supervisor with its engine, running until the test ends.
type bench struct {
	*engine.Supervisor
	dir   string
	count string
	log   *syncBuffer
	mu    sync.Mutex
	exits []engine.Class
	// done gets what Run answered; stop ends it.
	done chan error
	stop context.CancelFunc
}

// syncBuffer is a log that is written and read at once.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start runs a scripted engine; change may adapt the configuration.
func start(t *testing.T, words string, change func(*engine.Config)) *bench {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Socket paths are short; the test's own folder may not be.
	dir, err := os.MkdirTemp("", "tf") //nolint:usetesting // a short name, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(dir, "engine-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		os.RemoveAll(dir)
	})
	b := &bench{dir: dir, count: filepath.Join(dir, "count"), log: &syncBuffer{}, done: make(chan error, 1)}
	cfg := engine.Config{
		Command: []string{exe, "engine", words, b.count}, Pipeline: "scripted", RuntimeDir: dir,
		StallTimeout: 700 * time.Millisecond, CloseGrace: 700 * time.Millisecond, KillGrace: 500 * time.Millisecond,
		BackoffMin: 10 * time.Millisecond, OnExit: b.noteExit,
		Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&cfg)
	}
	if b.Supervisor, err = engine.NewSupervisor(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.done <- b.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("the supervisor did not end")
		}
		if t.Failed() {
			t.Log(b.log.String())
		}
	})
	return b
}

func (b *bench) noteExit(class engine.Class) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exits = append(b.exits, class)
}

func (b *bench) lastExit() engine.Class {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.exits) == 0 {
		return ""
	}
	return b.exits[len(b.exits)-1]
}

// made is how many chunks the engine has made.
func (b *bench) made() int {
	info, err := os.Stat(b.count)
	if err != nil {
		return 0
	}
	return int(info.Size())
}

// pid is that of the newest engine that was loaded.
func (b *bench) pid(t *testing.T) int {
	t.Helper()
	_, tail, ok := strings.Cut(b.log.String()[strings.LastIndex(b.log.String(), `"engine is loaded"`):], "engine_pid=")
	if !ok {
		t.Fatal("no engine was loaded")
	}
	pid, err := strconv.Atoi(strings.Fields(tail)[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func request(prompt string) pipeline.Request {
	return pipeline.Request{Task: "t2v", Prompt: prompt, Width: 64, Height: 48, FPS: 16, Frames: 45, Seed: 7}
}

func withPatience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// wait looks until ok says so.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx := withPatience(t)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !ok() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// play runs a session to its end and answers its frames.
func (b *bench) play(ctx context.Context, req pipeline.Request) ([]media.Frame, error) {
	s, err := b.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var frames []media.Frame
	for {
		chunk, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return frames, nil
		}
		if err != nil {
			return frames, err
		}
		frames = append(frames, chunk.Frames...)
	}
}

// mustPlay shows that the engine works.
func (b *bench) mustPlay(t *testing.T) {
	t.Helper()
	frames, err := b.play(withPatience(t), request("a quiet prompt"))
	if err != nil || len(frames) != 45 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
}

func TestFramesCrossTheProcessBorderUnchanged(t *testing.T) {
	b := start(t, "", nil)
	ctx := withPatience(t)
	desc, err := b.Ready(ctx)
	if err != nil || desc.Contract.Name != "scripted" || desc.Device != "test device" || desc.LoadNS <= 0 {
		t.Fatalf("%+v, %v", desc, err)
	}
	got, err := b.play(ctx, request("plain"))
	if err != nil {
		t.Fatal(err)
	}
	local, err := pipeline.NewScripted("").Open(ctx, request("plain"))
	if err != nil {
		t.Fatal(err)
	}
	var want []media.Frame
	for {
		chunk, err := local.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, chunk.Frames...)
	}
	if len(got) != 45 || len(got) != len(want) {
		t.Fatalf("%d frames, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Width != 64 || got[i].Height != 48 || !bytes.Equal(got[i].Data, want[i].Data) {
			t.Fatalf("frame %d differs", i)
		}
	}
	if !strings.Contains(b.log.String(), "test engine starts") {
		t.Error("the engine's standard error is not in the log")
	}
}

// TestProgressComesBeforeTheFirstFrame and only what can be progress.
func TestProgressComesBeforeTheFirstFrame(t *testing.T) {
	b := start(t, "", nil)
	ctx, cancel := context.WithCancel(withPatience(t))
	s, err := b.Open(ctx, request("moved=40 hang@0"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	shares := make(chan float64, 100)
	s.OnMove(func(share float64) { shares <- share })
	go func() {
		if share := <-shares; share != 0.4 {
			t.Errorf("share %g", share)
		}
		cancel()
	}()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next: %v", err)
	}
	if frames, err := b.play(withPatience(t), request("moved=40")); len(frames) != 45 || err != nil {
		t.Errorf("%d frames among progress, %v", len(frames), err)
	}
	for _, words := range []string{"moved=140", ""} {
		s, err := b.Open(withPatience(t), request(words))
		if err != nil {
			t.Fatal(err)
		}
		s.OnMove(func(share float64) { t.Errorf("%q: share %g", words, share) })
		if _, err := s.Next(withPatience(t)); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTheLargestFrameFits(t *testing.T) {
	b := start(t, "frames=1", func(c *engine.Config) { c.StallTimeout = patience })
	req := request("large")
	req.Width, req.Height = 1920, 1088
	req.Image = &media.Image{Width: 1920, Height: 1088, RGB: make([]byte, 1920*1088*3)}
	frames, err := b.play(withPatience(t), req)
	if err != nil || len(frames) != 1 || frames[0].Width != 1920 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
}

func TestEachFailureKeepsItsClass(t *testing.T) {
	for _, c := range []struct {
		words string
		want  error
		// exit is how the process ends of it; "" where it lives on.
		exit engine.Class
	}{
		{"fail=invalid@open", engine.ErrInvalid, ""},
		{"fail=invalid@1", engine.ErrInvalid, ""},
		{"fail=internal@1", engine.ErrInternal, ""},
		{"fail=oom@open", engine.ErrOutOfMemory, engine.ClassOutOfMemory},
		{"fail=oom@1", engine.ErrOutOfMemory, engine.ClassOutOfMemory},
		{"fail=device@1", engine.ErrDeviceLost, engine.ClassDeviceLost},
		{"crash@1", engine.ErrCrashed, engine.ClassCrashed},
		{"crash=72@1", engine.ErrOutOfMemory, engine.ClassOutOfMemory},
		{"panic@1", engine.ErrCrashed, engine.ClassCrashed},
		{"crash@open", engine.ErrCrashed, engine.ClassCrashed},
		{"hang@1", engine.ErrStalled, engine.ClassStalled},
		{"hang@1 deaf", engine.ErrStalled, engine.ClassStalled},
		{"hang@open deaf", engine.ErrStalled, engine.ClassStalled},
	} {
		t.Run(c.words, func(t *testing.T) {
			t.Parallel()
			b := start(t, "", nil)
			_, err := b.play(withPatience(t), request(c.words))
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			b.mustPlay(t)
			if got := b.lastExit(); got != c.exit {
				t.Errorf("the engine ended as %q, want %q", got, c.exit)
			}
		})
	}
}

func TestACrashInTheMiddleOfAnAnswerIsACrash(t *testing.T) {
	b := start(t, "", func(c *engine.Config) { c.StallTimeout = patience })
	req := request("crash@1")
	req.Width, req.Height = 1280, 720
	for range 3 {
		if _, err := b.play(withPatience(t), req); !errors.Is(err, engine.ErrCrashed) {
			t.Fatal(err)
		}
	}
}

func TestADeafHangIsKilledInTime(t *testing.T) {
	b := start(t, "", nil)
	if _, err := b.Ready(withPatience(t)); err != nil {
		t.Fatal(err)
	}
	pid := b.pid(t)
	started := time.Now()
	if _, err := b.play(withPatience(t), request("hang@1 deaf")); !errors.Is(err, engine.ErrStalled) {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("the session is over and the process is not")
	}
	// Stall and kill grace are 1.2 s together; a heartbeat and a busy machine come on top.
	if took := time.Since(started); took > 6*time.Second {
		t.Errorf("took %s", took)
	}
	b.mustPlay(t)
}

func TestSlowLoadIsNoStall(t *testing.T) {
	b := start(t, "load_ms=1500", func(c *engine.Config) { c.StallTimeout = 300 * time.Millisecond })
	b.mustPlay(t)
	if b.lastExit() != "" {
		t.Errorf("the loading engine was ended as %s", b.lastExit())
	}
}

func TestLoadTimeoutEndsALoadThatHangs(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	b := start(t, "hang@load deaf once="+once, func(c *engine.Config) { c.LoadTimeout = 500 * time.Millisecond })
	b.mustPlay(t)
	if b.lastExit() != engine.ClassStalled {
		t.Errorf("ended as %q", b.lastExit())
	}
}

func TestCancelFreesTheDeviceSoon(t *testing.T) {
	for _, words := range []string{"hang@1", "hang@1 deaf", "hang@open", "hang@open deaf", "step_ms=100"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			b := start(t, "", func(c *engine.Config) { c.StallTimeout = patience })
			if _, err := b.Ready(withPatience(t)); err != nil {
				t.Fatal(err)
			}
			pid := b.pid(t)
			why := errors.New("enough")
			ctx, cancel := context.WithCancelCause(context.Background())
			cancelled := make(chan time.Time, 1) // one moment
			time.AfterFunc(300*time.Millisecond, func() {
				cancelled <- time.Now()
				cancel(why)
			})
			req := request(words)
			req.Frames = 10_000
			if _, err := b.play(ctx, req); !errors.Is(err, why) {
				t.Fatalf("got %v, want the cause", err)
			}
			// Close grace and kill grace are 1.2 s together; a busy machine comes on top.
			if took := time.Since(<-cancelled); took > 5*time.Second {
				t.Errorf("the device was free after %s", took)
			}
			if deaf := strings.Contains(words, "deaf"); alive(pid) == deaf {
				t.Errorf("deaf %t and process alive %t", deaf, alive(pid))
			}
			b.mustPlay(t)
		})
	}
}

func TestAReaderThatStopsStopsTheEngine(t *testing.T) {
	b := start(t, "", func(c *engine.Config) { c.Credits = 3 })
	ctx := withPatience(t)
	req := request("endless")
	req.Frames = 100_000
	s, err := b.Open(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wait(t, "three chunks ahead", func() bool { return b.made() == 3 })
	for range 4 {
		if _, err := s.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "seven chunks", func() bool { return b.made() == 7 })
	// Waiting for a reader is no stall, and makes nothing: outlast the stall timeout.
	<-time.After(1200 * time.Millisecond) // that nothing happens can only be waited for
	if b.made() != 7 || b.lastExit() != "" {
		t.Errorf("made %d chunks, exit %q", b.made(), b.lastExit())
	}
}

func TestControlsReachALiveSession(t *testing.T) {
	b := start(t, "", func(c *engine.Config) { c.Credits = 1 })
	ctx := withPatience(t)
	req := request("live")
	req.Frames = 0
	s, err := b.Open(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keys := "wa"
	if err := s.Control(ctx, pipeline.Control{ID: "c1", Keys: &keys}); err != nil {
		t.Fatal(err)
	}
	bad := "x"
	if err := s.Control(ctx, pipeline.Control{Keys: &bad}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("bad keys: %v", err)
	}
	for {
		chunk, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(chunk.Applied.ControlIDs) > 0 {
			if chunk.Applied.ControlIDs[0] != "c1" || chunk.Applied.Keys != "wa" || len(chunk.Stages) == 0 || chunk.State == nil {
				t.Errorf("%+v", chunk.Applied)
			}
			return
		}
	}
}

// TestChunksOnDemandObeyEveryControl that came before they were asked for.
func TestChunksOnDemandObeyEveryControl(t *testing.T) {
	b := start(t, "", func(c *engine.Config) { c.OnDemand = true })
	ctx := withPatience(t)
	req := request("live")
	req.Frames = 0
	s, err := b.Open(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	gone, cancel := context.WithCancel(ctx)
	for i, keys := range []string{"w", "a", "s", "d"} {
		id := fmt.Sprint("c", i)
		if err := s.Control(ctx, pipeline.Control{ID: id, Keys: &keys}); err != nil {
			t.Fatal(err)
		}
		chunk, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Applied.Keys != keys || !slices.Equal(chunk.Applied.ControlIDs, []string{id}) || b.made() != i+1 {
			t.Errorf("chunk %d of %d: %+v", i, b.made(), chunk.Applied)
		}
	}
	cancel()
	if _, err := s.Next(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	if chunk, err := s.Next(ctx); err != nil || chunk.Index != 4 || b.made() != 5 {
		t.Errorf("the call after it: chunk %d of %d, %v", chunk.Index, b.made(), err)
	}
}

func TestSessionsAreCounted(t *testing.T) {
	b := start(t, "", nil)
	ctx := withPatience(t)
	desc, err := b.Ready(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range max(1, desc.Contract.SessionsMax) {
		s, err := b.Open(ctx, request("one"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
	}
	if _, err := b.Open(ctx, request("too many")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("got %v", err)
	}
}

func TestASilentEngineIsReplaced(t *testing.T) {
	b := start(t, "", func(c *engine.Config) { c.HeartbeatTimeout = time.Second })
	if _, err := b.Ready(withPatience(t)); err != nil {
		t.Fatal(err)
	}
	pid := b.pid(t)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wait(t, "the end of the stopped engine", func() bool { return !alive(pid) })
	b.mustPlay(t)
	if b.lastExit() != engine.ClassStalled {
		t.Errorf("ended as %q", b.lastExit())
	}
}

func TestAKilledEngineIsSeenAtOnce(t *testing.T) {
	b := start(t, "", nil)
	ctx := withPatience(t)
	s, err := b.Open(ctx, request("hang@1"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Next(ctx); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if err := syscall.Kill(b.pid(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(ctx); !errors.Is(err, engine.ErrCrashed) {
		t.Fatal(err)
	}
	if took := time.Since(killed); took > 5*time.Second {
		t.Errorf("seen after %s", took)
	}
}

func TestTheSupervisorGivesUp(t *testing.T) {
	for words, want := range map[string]error{
		"fail=invalid@load": engine.ErrInvalid,
		"fail=device@load":  engine.ErrDeviceLost,
		"fail=device@open":  engine.ErrDeviceLost,
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			b := start(t, words, func(c *engine.Config) { c.DeviceLostMax, c.DeviceBackoffMin = 2, time.Millisecond })
			ctx := withPatience(t)
			for {
				if _, err := b.play(ctx, request("")); ctx.Err() != nil {
					t.Fatal(err)
				}
				select {
				case err := <-b.done:
					if !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
					if _, err := b.Ready(ctx); !errors.Is(err, want) {
						t.Errorf("Ready: %v", err)
					}
					return
				default:
				}
			}
		})
	}
}

func TestALostDeviceIsSetAside(t *testing.T) {
	marks := make(chan bool, 2) // as many as the test waits for
	b := start(t, "fail=device@0 once="+filepath.Join(t.TempDir(), "struck"), func(c *engine.Config) {
		c.DeviceBackoffMin = 200 * time.Millisecond
		c.OnAside = func(aside bool) { marks <- aside }
	})
	ctx := withPatience(t)
	if _, err := b.play(ctx, request("")); !errors.Is(err, engine.ErrDeviceLost) {
		t.Fatal(err)
	}
	if !<-marks || !b.Aside() {
		t.Error("the lost device is not marked")
	}
	lost := time.Now()
	if _, err := b.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(lost); took < 150*time.Millisecond {
		t.Errorf("tried again after %s", took)
	}
	if <-marks || b.Aside() {
		t.Error("the device is still marked")
	}
	if _, err := b.play(ctx, request("")); err != nil {
		t.Error(err)
	}
}

// TestADeviceLostWhileIdleEndsTheEngine has the engine's own watch see the loss.
func TestADeviceLostWhileIdleEndsTheEngine(t *testing.T) {
	trip := filepath.Join(t.TempDir(), "trip")
	b := start(t, "", func(c *engine.Config) {
		c.Env = []string{"TEST_TRIP=" + trip}
		c.DeviceBackoffMin = time.Millisecond
	})
	ctx := withPatience(t)
	d, err := b.Ready(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Devices) != 1 || *d.Devices[0].Name != "test device" || *d.Devices[0].MemoryBytes != 1<<30 || d.Devices[0].DriverVersion != nil {
		t.Errorf("devices %+v", d.Devices)
	}
	if err := os.WriteFile(trip, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for b.lastExit() != engine.ClassDeviceLost {
		if ctx.Err() != nil {
			t.Fatalf("last end %q", b.lastExit())
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestAMissingCommandIsFinal(t *testing.T) {
	b := start(t, "", func(c *engine.Config) { c.Command = []string{"/nonexistent/engine"} })
	select {
	case err := <-b.done:
		if !errors.Is(err, engine.ErrInvalid) {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("still trying")
	}
}

func TestADeviceHasOneOwner(t *testing.T) {
	b := start(t, "", func(c *engine.Config) { c.Devices = []string{"gpu-0"} })
	if _, err := b.Ready(withPatience(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.AcquireDevice(b.dir, "gpu-0", false); !errors.Is(err, engine.ErrDeviceTaken) {
		t.Errorf("got %v", err)
	}
	other, err := engine.AcquireDevice(b.dir, "gpu-1", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Release(); err != nil {
		t.Error(err)
	}
	b.stop()
	if err := <-b.done; err != nil {
		t.Fatal(err)
	}
	lock, err := engine.AcquireDevice(b.dir, "gpu-0", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestStopEndsTheEngineAndItsSessions(t *testing.T) {
	b := start(t, "", nil)
	ctx := withPatience(t)
	s, err := b.Open(ctx, request("hang@0"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pid := b.pid(t)
	b.stop()
	if _, err := s.Next(ctx); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := <-b.done; err != nil {
		t.Error(err)
	}
	if alive(pid) {
		t.Error("the engine lives on")
	}
	if _, err := b.Open(ctx, request("")); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("open after the end: %v", err)
	}
}

func TestPeakMemoryIsMeasured(t *testing.T) {
	b := start(t, "", nil)
	ctx := withPatience(t)
	s, err := b.Open(ctx, request("memory"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if peak := s.PeakMemoryBytes(); peak == nil || *peak < 1<<20 {
		t.Errorf("peak %v", peak)
	}
}

func TestTheEngineDiesWithItsSupervisor(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tf") //nolint:usetesting // a short name, for sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(exe, "supervisor", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		var line struct {
			Msg string `json:"msg"`
			PID int    `json:"engine_pid"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "engine is loaded" {
			pid = line.PID
		}
	}
	if pid == 0 || !alive(pid) {
		t.Fatalf("no engine: pid %d", pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	wait(t, "the engine's end", func() bool { return !alive(pid) })
	swept, err := engine.SweepPrivateDirs(dir, "engine-")
	if err != nil || swept != 1 {
		t.Errorf("swept %d, %v", swept, err)
	}
}

func TestTheEngineEndsWithItsStandardInput(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	cmd := exec.Command(exe, "engine", "", os.DevNull, "--socket", socket)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, "the socket", func() bool { _, err := os.Stat(socket); return err == nil })
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != engine.ExitOrphaned {
		t.Errorf("ended with %v", err)
	}
}

func TestPrivateDirsOfTheLivingStay(t *testing.T) {
	parent := t.TempDir()
	dir, err := engine.NewPrivateDir(parent, "x-")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir.Path)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if swept, err := engine.SweepPrivateDirs(parent, "x-"); swept != 0 || err != nil {
		t.Errorf("swept %d, %v", swept, err)
	}
	if err := dir.Remove(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(parent); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestALongRuntimeDirNeedsNoShortName(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	b := start(t, "", func(c *engine.Config) { c.RuntimeDir = long })
	b.mustPlay(t)
}

func TestWhatAPipelineSaysOfARequestStaysAtDebug(t *testing.T) {
	b := start(t, "", nil)
	_, err := b.play(withPatience(t), request("whisper=secret"))
	if !errors.Is(err, engine.ErrInvalid) || strings.Contains(err.Error(), "whisper") {
		t.Errorf("got %v", err)
	}
	heard := false
	for line := range strings.Lines(b.log.String()) {
		if strings.Contains(line, "whisper") {
			heard = true
			if !strings.Contains(line, "level=DEBUG") {
				t.Errorf("the log says: %s", line)
			}
		}
	}
	if !heard {
		t.Error("the pipeline's words are lost")
	}
}
