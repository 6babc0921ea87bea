package e2e_test

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"telefuser/workers/gpu/gputest"
)

// gpuMachine makes up a machine with two GPUs.
func gpuMachine(t *testing.T) *gputest.Machine {
	t.Helper()
	m, err := gputest.New(shortDir(t), 2, 1<<31)
	if errors.Is(err, gputest.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// gpuStack runs a worker on the first GPU of a made-up machine.
func gpuStack(t *testing.T, m *gputest.Machine, args ...string) *stack {
	t.Helper()
	s := startStack(t, stackOptions{noWorkers: true, env: []string{m.Env()}})
	s.workers = append(s.workers, s.startWorker("worker0", append([]string{"--gpus", "0"}, args...)...))
	awaitLine(t, s.workers[0], "engine is loaded", 1)
	return s
}

// awaitLine waits until a process has logged a message so many times.
func awaitLine(t *testing.T, p *process, message string, times int) {
	t.Helper()
	waitFor(t, videoTimeout, p.name+" to say "+message, func() bool { return countLines(t, p, message) >= times })
}

func countLines(t *testing.T, p *process, message string) int {
	t.Helper()
	n := 0
	for _, l := range logLines(t, p) {
		if l.text("msg") == message {
			n++
		}
	}
	return n
}

// quick asks for a video that takes a moment.
func quick(prompt string) fields {
	return fields{"model": "terrain", "prompt": prompt, "size": "416x240", "seconds": 1, "seed": 7}
}

// TestFaultGPU has the driver fail in the middle of a job in each way: the engine ends at once, the job is made on another engine, and the
// next one as if nothing had been.
func TestFaultGPU(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		at    gputest.Place
		code  int
		class string
	}{
		"assertion":       {gputest.AtLaunch, 710, "device_lost"},
		"illegal address": {gputest.AtLaunch, 700, "device_lost"},
		"ECC":             {gputest.AtLaunch, 214, "device_lost"},
		"out of memory":   {gputest.AtAlloc, 2, "out_of_memory"},
		"endless kernel":  {gputest.AtHang, 1, "stalled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := gpuMachine(t)
			s := gpuStack(t, m, "--stall-timeout", "3s")
			if err := m.Plant(0, fault.at, fault.code); err != nil {
				t.Fatal(err)
			}
			v := s.client.make(t, quick("a coast"))
			if n := s.attempts(v.ID); n != 2 || m.Waits(0) {
				t.Errorf("%d attempts; the fault still waits: %v", n, m.Waits(0))
			}
			s.checkArtifact(v, 2)
			if !slices.ContainsFunc(logLines(t, s.workers[0]), func(l logLine) bool { return l.text("msg") == "engine ended" && l.text("class") == fault.class }) {
				t.Errorf("no engine ended as %s", fault.class)
			}
			if aside := countLines(t, s.workers[0], "device is set aside"); aside != map[bool]int{true: 1}[fault.class == "device_lost"] {
				t.Errorf("the device was set aside %d times", aside)
			}
			if next := s.client.make(t, quick("a coast")); s.attempts(next.ID) != 1 {
				t.Error("the next job needed more than one attempt")
			}
		})
	}
}

// TestFaultXidWhileIdle loses a card that nobody works on.
func TestFaultXidWhileIdle(t *testing.T) {
	t.Parallel()
	m := gpuMachine(t)
	s := gpuStack(t, m)
	if err := m.Xid(0, 79); err != nil {
		t.Fatal(err)
	}
	awaitLine(t, s.workers[0], "device is set aside", 1)
	awaitLine(t, s.workers[0], "engine is loaded", 2)
	if v := s.client.make(t, quick("a coast")); s.attempts(v.ID) != 1 {
		t.Error("the job paid for it")
	}
}

// TestJobsTellOfTheirGPU reads the facts beside the video, from a machine that tells and from one that has lost NVML.
func TestJobsTellOfTheirGPU(t *testing.T) {
	t.Parallel()
	for name, facts := range map[string]gputest.Facts{
		"known":   {"sm_clock": 1980, "power_mw": 650500, "used": 1 << 30, "total": 1 << 31, "ecc": 0},
		"unknown": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := gpuMachine(t)
			if err := m.Tell(0, facts); err != nil {
				t.Fatal(err)
			}
			debug := "127.0.0.1:" + strconv.Itoa(freePort(t))
			s := gpuStack(t, m, "--debug-addr", debug)
			if got := strings.Contains(metricsOf(t, debug), `telefuser_gpu_sm_clock_hertz{gpu="0"`); got != (name == "known") {
				t.Errorf("the clock is shown: %v", got)
			}
			v := s.client.make(t, quick("a coast"))
			var manifest struct {
				Result struct {
					Facts struct {
						Devices []map[string]any            `json:"devices"`
						Phases  map[string][]map[string]any `json:"phases"`
					} `json:"facts"`
				} `json:"result"`
			}
			readJSON(t, filepath.Join(s.bucketsDir(), bucket, "videos", v.ID, "1", "manifest.json"), &manifest)
			f := manifest.Result.Facts
			if len(f.Devices) != 1 || f.Devices[0]["name"] != "Made-up GPU" || f.Devices[0]["driver_version"] != "999.1" || f.Devices[0]["memory_bytes"] != float64(1<<31) {
				t.Errorf("devices %v", f.Devices)
			}
			for _, phase := range []string{"loading", "generating"} {
				if len(f.Phases[phase]) != 1 {
					t.Fatalf("phases %v", f.Phases)
				}
				d := f.Phases[phase][0]
				if phase == "generating" && d["readings"].(float64) < 1 {
					t.Errorf("never read: %v", d)
				}
				if clock := d["sm_clock_mhz"]; name == "known" && phase == "generating" && (clock != 1980.0 || d["power_watts"] != 650.5) || name == "unknown" && clock != nil {
					t.Errorf("%s: %v", phase, d)
				}
				if d["temperature_celsius"] != nil || d["engine_peak_bytes"].(float64) <= 0 {
					t.Errorf("%s: %v", phase, d)
				}
			}
		})
	}
}

// metricsOf reads what a process measures.
func metricsOf(t *testing.T, addr string) string {
	t.Helper()
	answer, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestGPUIsSharedOnlyByThoseToldSo runs two workers of one machine, with data directories of their own, on one GPU.
func TestGPUIsSharedOnlyByThoseToldSo(t *testing.T) {
	t.Parallel()
	for name, share := range map[string]bool{"alone": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := gpuMachine(t)
			flag := "--share-gpus=" + strconv.FormatBool(share)
			s := gpuStack(t, m, flag)
			second := s.startWorker("worker1", "--gpus", "0", flag)
			if share {
				awaitLine(t, second, "engine is loaded", 1)
				return
			}
			awaitLine(t, second, "engine ended", 1)
			if !strings.Contains(second.stderr.String(), "claimed by another process") || countLines(t, second, "engine is loaded") > 0 {
				t.Errorf("the second worker says\n%s", second.stderr.tail(2000))
			}
			s.workers[0].stop(t)
			awaitLine(t, second, "engine is loaded", 1) // it tries again
		})
	}
}

// TestGPUStagesAreShownToProfilers: what a profiler sees are the stages of the facts.
func TestGPUStagesAreShownToProfilers(t *testing.T) {
	t.Parallel()
	m := gpuMachine(t)
	s := gpuStack(t, m)
	s.client.make(t, quick("a coast"))
	names := map[string]int{}
	for _, line := range m.Ranges() {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "begin" {
			names[words[2]]++
		}
	}
	for _, stage := range []string{"encode", "generate", "decode"} {
		if names[stage] != 2 { // 16 frames are two chunks
			t.Errorf("%s was shown %d times", stage, names[stage])
		}
	}
}

// TestGPUsMeasures runs the operator's command.
func TestGPUsMeasures(t *testing.T) {
	t.Parallel()
	m := gpuMachine(t)
	dir := shortDir(t)
	if err := m.Tell(0, gputest.Facts{"used": 100 << 20, "total": 1 << 31}); err != nil {
		t.Fatal(err)
	}
	p := start(t, spawn{name: "gpus", path: program(t), args: []string{"gpus", "--measure", "--probe", "--data-dir", dir}, env: []string{m.Env()}, dir: dir})
	p.waitEnd(t, time.Minute)
	if p.err != nil {
		t.Fatalf("%v\n%s", p.err, p.stderr)
	}
	// What NVML says of memory is made up and does not move, so nothing was measured, and the contract's word stands.
	if out := p.stdout.String(); !strings.Contains(out, "Made-up GPU") || !strings.Contains(out, "declared") || strings.Count(out, "ok") < 2 {
		t.Errorf("it says\n%s", out)
	}
}
