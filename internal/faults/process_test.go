package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stopTimeout bounds an orderly end of any process of ours.
const stopTimeout = 45 * time.Second

// process is one child with what it wrote. It dies with the test binary.
type process struct {
	name string
	path string
	args []string
	cmd  *exec.Cmd
	log  *output
	done chan struct{}
	// killed is set when it was us who ended it without grace.
	killed bool
}

// launch starts a program whose environment holds nothing but env and what finds programs. Its log goes on where that of its forerunner of the same name ended.
func launch(name, path string, args, env []string, dir string, log *output) (*process, error) {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = dir, append(baseEnv(), env...)
	cmd.SysProcAttr = childAttr()
	cmd.Stdout, cmd.Stderr = log, log
	p := &process{name: name, path: path, args: args, cmd: cmd, log: log, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The parent-death signal follows the thread that started the child.
		defer close(p.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// baseEnv is what every child needs to find programs and libraries.
func baseEnv() []string {
	var env []string
	for _, kv := range (&exec.Cmd{}).Environ() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TMPDIR":
			env = append(env, kv)
		}
	}
	return env
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends it as a crash would, and returns when it is gone.
func (p *process) kill() {
	p.killed = true
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop asks it to end and says how long that took, or that it had to be killed.
func (p *process) stop() (time.Duration, error) {
	started := time.Now()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return time.Since(started), nil
	case <-timer.C:
		p.kill()
		return time.Since(started), fmt.Errorf("%s did not end within %s", p.name, stopTimeout)
	}
}

func (p *process) freeze(t *testing.T) { t.Helper(); p.signal(t, syscall.SIGSTOP) }
func (p *process) thaw(t *testing.T)   { t.Helper(); p.signal(t, syscall.SIGCONT) }

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("signal %s to %s: %v", s, p.name, err)
	}
}

// output keeps what the processes of one name wrote.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String is all of it.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// line is one structured log line.
type line struct {
	Time    time.Time `json:"time"`
	Level   string    `json:"level"`
	Message string    `json:"msg"`
	JobID   string    `json:"job_id"`
	Attempt int       `json:"attempt"`
	Outcome string    `json:"outcome"`
	// RequestID is that of the create.
	RequestID string `json:"request_id"`
}

// lines are the log lines whose message it is.
func (o *output) lines(message string) []line {
	var found []line
	for text := range strings.Lines(o.String()) {
		var l line
		if strings.Contains(text, message) && json.Unmarshal([]byte(text), &l) == nil && l.Message == message {
			found = append(found, l)
		}
	}
	return found
}

// remarkable is the end of what was written, without the requests.
func (o *output) remarkable(bytesMax int) string {
	var kept strings.Builder
	for text := range strings.Lines(o.String()) {
		if !strings.Contains(text, `"msg":"request"`) {
			kept.WriteString(text)
		}
	}
	s := kept.String()
	return s[max(0, len(s)-bytesMax):]
}
