package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"

	"telefuser/internal/devstack"
)

// TestLocalTopology starts the script that runs the production topology as processes, makes a video, and ends it.
func TestLocalTopology(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"redis-server", "versitygw"} {
		if _, err := devstack.LookTool(tool); err != nil {
			t.Skip(err)
		}
	}
	gateway, err := devstack.LookTool("versitygw")
	if err != nil {
		t.Skip(err)
	}
	// A copy, so that the binary under test is the one that runs.
	dir := shortDir(t)
	script := filepath.Join(dir, "deploy", "local.sh")
	text, err := os.ReadFile(filepath.Join(repository(t), "deploy", "local.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"deploy", "bin"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(script, text, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program(t), filepath.Join(dir, "bin", "telefuser")); err != nil {
		t.Fatal(err)
	}
	port := freePort(t, 1, 10, 11)
	p := start(t, spawn{name: "local.sh", path: script, args: []string{filepath.Join(dir, "data")}, dir: dir,
		env: []string{"LOCAL_PORT=" + strconv.Itoa(port), "TELEFUSER_TOOLS=" + filepath.Dir(gateway)}})
	t.Cleanup(func() { endLeft(t, dir) })
	waitFor(t, readyTimeout, "local.sh to be ready", func() bool {
		if p.ended() {
			t.Fatalf("local.sh ended: %v\n%s", p.err, p.stderr.tail(4000))
		}
		return strings.HasPrefix(p.stdout.String(), "ready ")
	})
	a, b := newClient(fmt.Sprintf("http://127.0.0.1:%d", port)), newClient(fmt.Sprintf("http://127.0.0.1:%d", port+1))
	v := b.await(t, a.create(t, small("a video of the local topology")).ID)
	checkFile(t, v, b.content(t, v.ID, ""))

	p.signal(t, syscall.SIGTERM)
	p.waitEnd(t, stopTimeout)
	if p.err != nil {
		t.Errorf("local.sh ended with %v", p.err)
	}
	if left := listed(t, dir); len(left) != 0 {
		t.Errorf("still running: %v", left)
	}
	for _, entry := range []string{"api0.log", "worker0.log", "redis.log", "s3.log"} {
		if _, err := os.Stat(filepath.Join(dir, "data", entry)); err != nil {
			t.Error(err)
		}
	}
}

// listed answers the processes of the script's list that are alive.
func listed(t *testing.T, dir string) []int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data", "pids"))
	if err != nil {
		t.Fatal(err)
	}
	var alive []int
	for line := range strings.Lines(string(text)) {
		pid, err := strconv.Atoi(strings.Fields(line)[0])
		if err != nil {
			t.Fatalf("pids: %q", line)
		}
		if syscall.Kill(pid, 0) == nil {
			alive = append(alive, pid)
		}
	}
	return alive
}

// endLeft ends what the script left running when the test failed; the processes have groups of their own, so nothing else ends them.
func endLeft(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "data", "pids")); err != nil {
		return
	}
	for _, pid := range listed(t, dir) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// TestComposeFile lets the loader of Docker Compose check the file, with and without the variables that it takes.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{nil, {"S3_ACCESS_KEY=a", "S3_SECRET_KEY=b", "LIVEKIT_API_KEY=c", "LIVEKIT_API_SECRET=d"}} {
		options, err := cli.NewProjectOptions([]string{filepath.Join(repository(t), "docker-compose.yml")}, cli.WithEnv(env))
		if err != nil {
			t.Fatal(err)
		}
		project, err := options.LoadProject(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"redis", "s3", "livekit", "api", "worker"} {
			service, err := project.GetService(name)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, volume := range service.Volumes {
				if _, err := os.Stat(volume.Source); volume.Type == "bind" && err != nil {
					t.Errorf("%s mounts what is not there: %v", name, err)
				}
			}
			if name == "livekit" {
				continue
			}
			if (name == "api" || name == "redis" || name == "s3") && (service.HealthCheck == nil || len(service.HealthCheck.Test) == 0) {
				t.Errorf("%s has no health check", name)
			}
			if (name == "api" || name == "worker") && !service.ReadOnly {
				t.Errorf("%s may write to its root file system", name)
			}
		}
		checkSettings(t, project.Services["api"].Environment)
		checkSettings(t, project.Services["worker"].Environment)
	}
}

var settingLine = regexp.MustCompile(`(?m)^([a-z0-9_.]+) `)

// checkSettings compares a container's variables with the settings that the program knows; an unknown one would stop its start.
func checkSettings(t *testing.T, environment map[string]*string) {
	t.Helper()
	var env []string
	for name, value := range environment {
		if value != nil && strings.HasPrefix(name, "TELEFUSER_") {
			env = append(env, name+"="+*value)
		}
	}
	if len(env) == 0 {
		t.Error("no settings")
	}
	out := run(t, spawn{name: "config", path: program(t), args: []string{"config"}, env: env, dir: t.TempDir()})
	if !settingLine.MatchString(out) || !strings.Contains(out, "redis://redis:6379/0") {
		t.Errorf("config prints %s", out)
	}
}

// TestDevIsOneCommand checks the start and the end of `telefuser dev`.
func TestDevIsOneCommand(t *testing.T) {
	t.Parallel()
	dev := startDev(t)
	if !regexp.MustCompile(`^ready http://127\.0\.0\.1:\d+\n$`).MatchString(dev.stdout.String()) {
		t.Errorf("dev prints %q", dev.stdout.String())
	}
	v := dev.client.make(t, small("kept"))
	content := dev.client.content(t, v.ID, "")
	dev.stop(t)
	if pids := enginesBelow(t, dev.dir); len(pids) != 0 {
		t.Errorf("engines are left: %v", pids)
	}
	if _, err := devstack.LookTool("redis-server"); err != nil {
		t.Skip("an embedded Redis keeps nothing: ", err)
	}
	// The next start in the same directory has everything.
	next, again := dev.startAgain(t)
	if string(again.content(t, v.ID, "")) != string(content) {
		t.Error("the video changed over a restart")
	}
	begin := time.Now()
	next.stop(t)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("an idle dev took %s to end", took)
	}
}

// startAgain starts dev anew in the directory of one that has ended.
func (d *devServer) startAgain(t *testing.T) (*process, *client) {
	t.Helper()
	next := start(t, spawn{name: "dev again", path: program(t), dir: d.dir, args: []string{"dev", "--port", "0", "--data-dir", filepath.Join(d.dir, "data")}})
	var url string
	waitFor(t, readyTimeout, "dev to be ready again", func() bool {
		line, _, complete := strings.Cut(next.stdout.String(), "\n")
		url = strings.TrimPrefix(line, "ready ")
		return complete || next.ended()
	})
	return next, newClient(url)
}

// TestFaultDevDies kills `telefuser dev`, and with it its Redis and its engine, in the middle of a video. The next one finishes it.
func TestFaultDevDies(t *testing.T) {
	t.Parallel()
	if _, err := devstack.LookTool("redis-server"); err != nil {
		t.Skip("an embedded Redis keeps nothing: ", err)
	}
	dev := startDev(t)
	v := dev.client.create(t, long("a machine that restarts"))
	waitFor(t, videoTimeout, "half of the job", func() bool {
		got, err := dev.client.get(t.Context(), v.ID)
		return err == nil && got.Progress >= 50
	})
	dev.kill()
	waitFor(t, 10*time.Second, "its engine to end", func() bool { return len(enginesBelow(t, dev.dir)) == 0 })
	next, again := dev.startAgain(t)
	finished := again.await(t, v.ID)
	checkFile(t, finished, again.content(t, v.ID, ""))
	next.stop(t)
	for _, path := range files(t, filepath.Join(dev.dir, "data", "tmp")) {
		if !strings.HasPrefix(path, "engines/") {
			t.Errorf("a leftover: %s", path)
		}
	}
}
