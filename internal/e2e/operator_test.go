package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServerlessWorkers starts workers that end by themselves.
func TestServerlessWorkers(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{noWorkers: true})
	first, second := s.client.create(t, small("one job")), s.client.create(t, small("one more"))
	for i, id := range []string{first.ID, second.ID} {
		w := s.startWorker("worker0", "--max-jobs", "1")
		w.waitEnd(t, videoTimeout)
		if w.err != nil {
			t.Errorf("worker %d ended with %v", i, w.err)
		}
		if v, err := s.client.get(t.Context(), id); err != nil || v.Status != "completed" {
			t.Errorf("after worker %d: %+v %v", i, v, err)
		}
	}
	started := time.Now()
	idle := s.startWorker("worker0", "--idle-exit", "1s")
	idle.waitEnd(t, readyTimeout)
	if idle.err != nil {
		t.Errorf("the idle worker ended with %v", idle.err)
	}
	if took := time.Since(started); took < time.Second {
		t.Errorf("it was idle for %s only", took)
	}
	s.checkStore(map[string]int{first.ID: 1, second.ID: 1})
}

// TestModelNamesMayGo makes a video under an alias that is taken away afterwards: the video stays readable.
func TestModelNamesMayGo(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{})
	s.apis[0].kill()
	s.opts.apiArgs = []string{"--model-alias", "hills=terrain"}
	s.startAPI(0)
	s.awaitReady(0)
	v := s.client.make(t, small("under another name").with(fields{"model": "hills"}))
	s.apis[0].kill()
	s.opts.apiArgs = nil
	s.startAPI(0)
	s.awaitReady(0)
	if _, err := s.client.post(t.Context(), small("no such model").with(fields{"model": "hills"}), nil); statusOf(err)/100 != 4 {
		t.Errorf("the alias is gone: %v", err)
	}
	got, err := s.client.get(t.Context(), v.ID)
	if err != nil || got.Model != "hills" || got.Status != "completed" {
		t.Errorf("the video: %+v %v", got, err)
	}
	checkFile(t, got, s.client.content(t, v.ID, ""))
}

// TestDemo makes the video that a newcomer sees first.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	file := filepath.Join(dir, "out", "demo.mp4")
	out := run(t, spawn{name: "demo", path: program(t), args: []string{"demo", "--out", file}, dir: dir, env: []string{"TMPDIR=" + dir}})
	mp4, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if p := probe(t, mp4); p.frames != 77 || p.width != 832 || p.height != 480 || p.fps != "16" || p.codec != "h264" {
		t.Errorf("the file has %+v", p)
	}
	for _, want := range []string{"/v1", "/docs", "in_progress", "100 %", file} {
		if !strings.Contains(out, want) {
			t.Errorf("demo does not say %q:\n%s", want, out)
		}
	}
	if left := files(t, dir); len(left) != 1 {
		t.Errorf("demo leaves %v", left)
	}
}

// TestDevWithoutRedisServer runs on a machine that has ffmpeg alone, and says what it lacks.
func TestDevWithoutRedisServer(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	path := filepath.Join(dir, "path")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"ffmpeg", "ffprobe"} {
		real, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("%s is not on PATH: run `make deps-test`, or install the package ffmpeg", tool)
		}
		if err := os.Symlink(real, filepath.Join(path, tool)); err != nil {
			t.Fatal(err)
		}
	}
	dev := start(t, spawn{name: "dev", path: program(t), dir: dir, env: []string{"PATH=" + path},
		args: []string{"dev", "--port", "0", "--data-dir", filepath.Join(dir, "data")}})
	var url string
	waitFor(t, readyTimeout, "dev to be ready", func() bool {
		line, _, complete := strings.Cut(dev.stdout.String(), "\n")
		url = strings.TrimPrefix(line, "ready ")
		return complete || dev.ended()
	})
	c := newClient(url)
	for i := range 3 {
		v := c.make(t, small(fmt.Sprintf("in memory %d", i)))
		checkFile(t, v, c.content(t, v.ID, ""))
	}
	if !strings.Contains(dev.stderr.String(), "forgotten") {
		t.Errorf("dev does not say that it keeps nothing:\n%s", dev.stderr)
	}
	dev.stop(t)
}
