package e2e_test

import (
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// exitUsage is the exit code of a command line that makes no sense.
const exitUsage = 2

// TestCommandLines checks what every command says of itself, and what it answers to nonsense.
func TestCommandLines(t *testing.T) {
	t.Parallel()
	commands := checkHelp(t, "")
	for _, want := range []string{"serve", "worker", "dev", "demo", "keys create", "keys list", "keys revoke", "jobs list", "jobs cancel", "jobs delete", "jobs rebuild",
		"config", "check", "version"} {
		if !slices.Contains(commands, want) {
			t.Errorf("there is no %q among %q", want, commands)
		}
	}
	for _, command := range []string{"serve --port 99999", "serve --auth maybe", "worker terrain --no-such-flag", "worker", "no-such-command", "jobs no-such-command", "worker no-such-pipeline"} {
		p := start(t, spawn{name: command, path: program(t), args: strings.Fields(command), dir: t.TempDir()})
		p.waitEnd(t, readyTimeout)
		var exit *exec.ExitError
		if !errors.As(p.err, &exit) || exit.ExitCode() != exitUsage {
			t.Errorf("%s ends with %v, want exit code %d: %s", command, p.err, exitUsage, p.stderr.tail(500))
		}
		if lines := strings.Count(p.stderr.String(), "\n"); lines == 0 || lines > 5 {
			t.Errorf("%s says in %d lines: %s", command, lines, p.stderr.tail(1000))
		}
	}
}

// checkHelp looks at what a command says of itself, and at all commands below it, which it lists.
func checkHelp(t *testing.T, command string) (commands []string) {
	t.Helper()
	out := run(t, spawn{name: "help", path: program(t), args: append(strings.Fields(command), "--help"), dir: t.TempDir()})
	if !strings.Contains(out, "Usage:") || !strings.Contains(out, "telefuser "+command) {
		t.Errorf("%s --help prints %s", command, out)
	}
	if strings.Contains(out, "die-at") {
		t.Errorf("%s --help shows a flag for tests", command)
	}
	_, list, _ := strings.Cut(out, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		name, about, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.TrimSpace(about) == "" {
			t.Errorf("%s --help says nothing of %s", command, name)
		}
		if name != "help" && name != "completion" {
			sub := strings.TrimSpace(command + " " + name)
			commands = append(append(commands, sub), checkHelp(t, sub)...)
		}
	}
	return commands
}

// TestStartWithoutRedis starts the roles before the server that they need.
func TestStartWithoutRedis(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{noWorkers: true})
	s.apis[0].kill()
	s.redis.Stop()
	s.startAPI(0)
	worker := s.startWorker("worker0")
	var answer *answerError
	waitFor(t, readyTimeout, "the API to answer that it is not ready", func() bool {
		_, err := s.api(0).call(t.Context(), http.MethodGet, "/v1/service/ready", nil, nil, nil)
		return errors.As(err, &answer)
	})
	if answer.Status != http.StatusServiceUnavailable {
		t.Errorf("ready without Redis: %v", answer)
	}
	if err := s.redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.awaitReady(0)
	s.client.make(t, small("all is well"))
	if worker.ended() {
		t.Errorf("the worker ended: %v", worker.err)
	}
}

// TestWorkerWithoutEncoder takes no job that it could not finish, and says what to install.
func TestWorkerWithoutEncoder(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{noWorkers: true})
	v := s.client.create(t, small("not for this worker"))
	worker := s.startWorker("worker0", "--ffmpeg", filepath.Join(s.dir, "no-ffmpeg"))
	worker.waitEnd(t, readyTimeout)
	if worker.err == nil || !strings.Contains(worker.stderr.String(), "ffmpeg") {
		t.Errorf("it ended with %v: %s", worker.err, worker.stderr.tail(500))
	}
	if got, err := s.client.get(t.Context(), v.ID); err != nil || got.Status != "queued" {
		t.Errorf("the job: %+v %v", got, err)
	}
	s.startWorker("worker0")
	s.client.await(t, v.ID)
}

// TestTwoReplicas runs two jobs at once in one worker.
func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{workerArgs: []string{"--num-replicas", "2"}})
	first, second := s.client.create(t, long("left")), s.client.create(t, long("right"))
	waitFor(t, videoTimeout, "both to run", func() bool {
		a, errA := s.client.get(t.Context(), first.ID)
		b, errB := s.client.get(t.Context(), second.ID)
		return errors.Join(errA, errB) == nil && a.Status == "in_progress" && b.Status == "in_progress"
	})
	if engines := s.engines("worker0"); len(engines) != 2 {
		t.Errorf("engines: %v", engines)
	}
	s.client.await(t, first.ID)
	s.client.await(t, second.ID)
	s.checkStore(map[string]int{first.ID: 1, second.ID: 1})
}

// TestFaultRedisIsFrozen stops redis-server for longer than a lease: the job that runs is finished all the same, once.
func TestFaultRedisIsFrozen(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{})
	v := s.client.create(t, long("finished in the dark"))
	f := follow(t, s.client, v.ID)
	waitFor(t, videoTimeout, "the job to be under way", func() bool { return f.progress() >= 5 })
	s.freezeRedis(t, 20*time.Second)
	back := time.Now()
	v = s.client.await(t, v.ID)
	if took := time.Since(back); took > 10*time.Second {
		t.Errorf("it was completed %s after Redis came back", took)
	}
	f.check(t, 1)
	if n := s.attempts(v.ID); n != 1 {
		t.Errorf("%d attempts", n)
	}
	s.checkArtifact(v, 1)
	s.client.make(t, small("and on it goes"))
}
