package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// readyTimeout bounds a start on a busy machine.
const readyTimeout = 30 * time.Second

// devServer is a `telefuser dev` with everything that it started.
type devServer struct {
	*process
	url    string
	client *client
	dir    string
	secrets
}

// startDev runs `telefuser dev` until the test ends, with JSON logs at info level so that they can be searched.
func startDev(t *testing.T, args ...string) *devServer {
	t.Helper()
	dir := shortDir(t)
	d := &devServer{dir: dir}
	args = append([]string{"dev", "--port", "0", "--data-dir", filepath.Join(dir, "data"), "--log-format", "json", "--log-level", "info"}, args...)
	d.process = start(t, spawn{name: "dev", path: program(t), args: args, dir: dir})
	d.watch(d.process)
	waitFor(t, readyTimeout, "dev to say that it is ready", func() bool {
		if d.ended() {
			t.Fatalf("dev ended: %v\n%s", d.err, d.stderr.tail(4000))
		}
		line, _, complete := strings.Cut(d.stdout.String(), "\n")
		d.url = strings.TrimPrefix(line, "ready ")
		return complete
	})
	d.client = newClient(d.url)
	t.Cleanup(func() { d.check(t) })
	return d
}
