package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMakeLiveOpensAWorld runs the command of the README with a browser that only writes down what it is asked to open, flies there, and ends it as ^C does.
func TestMakeLiveOpensAWorld(t *testing.T) {
	env, dir := toolsEnv(t), shortDir(t)
	for _, tool := range []string{"make", "ffmpeg"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on PATH: run `make deps-test`, or install the package %s", tool, tool)
		}
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	opened := filepath.Join(dir, "opened")
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" > "+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	tools := strings.TrimPrefix(env[0], "TELEFUSER_TOOLS=")
	live := start(t, spawn{name: "make", path: "make", dir: repository(t),
		args: []string{"--no-print-directory", "live", "BIN=" + program(t), "GO=true", "TOOLS=" + tools}, // what is built already is not built again
		env:  append(env, "PATH="+bin+":"+inherited("PATH"), "TELEFUSER_HTTP_PORT=0", "TELEFUSER_DATA_DIR="+filepath.Join(dir, "data"))})
	group := -live.cmd.Process.Pid
	t.Cleanup(func() { _ = syscall.Kill(group, syscall.SIGKILL) }) // most likely it is gone
	base, page := lineOf(t, live, "ready"), lineOf(t, live, "open")
	waitFor(t, readyTimeout, "the browser to be told of the page", func() bool {
		said, err := os.ReadFile(opened)
		return err == nil && strings.TrimSpace(string(said)) == page
	})
	if page != base+"/#live" {
		t.Errorf("the page is %s, the server %s", page, base)
	}
	res, err := http.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`data-view="live"`)) {
		t.Errorf("the page: %d %v %.200s", res.StatusCode, err, body)
	}
	c := liveClient{base: base}
	pilot := watch(t, c.must(t, 200, "POST", "/v1/stream/sessions", fields{"identity": "pilot", "prompt": "islands", "config": fields{"size": "192x128"}}))
	awaitFrames(t, pilot, 16)
	if err := syscall.Kill(group, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	live.waitEnd(t, stopTimeout)
	waitFor(t, stopTimeout, "everything to end", func() bool { return syscall.Kill(group, 0) != nil })
	if _, err := http.Get(base); err == nil {
		t.Error("the server is still there")
	}
}
