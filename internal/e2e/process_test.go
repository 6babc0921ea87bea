package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// suiteTimeout bounds a suite of another language.
const suiteTimeout = 3 * time.Minute

// stopTimeout bounds an orderly end of any process of ours.
const stopTimeout = 45 * time.Second

// process is one child of the test with what it wrote. It dies with the test, and with the test binary.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdout *output
	stderr *output
	done   chan struct{}
	// err is how it ended; to be read once done is closed.
	err error
}

// spawn says how to start a process. Its environment holds nothing but env and what finds programs.
type spawn struct {
	name string
	path string
	args []string
	env  []string
	dir  string
}

// start runs a process until the test ends.
func start(t *testing.T, o spawn) *process {
	t.Helper()
	cmd := exec.Command(o.path, o.args...)
	cmd.Dir, cmd.Env = o.dir, append(baseEnv(), o.env...)
	cmd.SysProcAttr = childAttr()
	p := &process{name: o.name, cmd: cmd, stdout: &output{}, stderr: &output{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	started := make(chan error)
	go p.own(started)
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", o.name, err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s wrote at last:\n%s", p.name, p.stderr.remarkable(4000))
		}
	})
	return p
}

// own starts the process and waits for it on one thread, because the parent-death signal follows the thread.
func (p *process) own(started chan<- error) {
	defer close(p.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
}

// baseEnv is what every child needs to find programs and libraries.
func baseEnv() []string {
	var env []string
	for _, kv := range (&exec.Cmd{}).Environ() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TMPDIR", "PYENV_VERSION":
			env = append(env, kv)
		}
	}
	return env
}

// inherited is a variable of the test's own environment, empty where it is not set.
func inherited(name string) string {
	for _, kv := range (&exec.Cmd{}).Environ() {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// signal sends a signal to the process alone.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("signal %s to %s: %v", s, p.name, err)
	}
}

// kill ends it as a crash would, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop asks it to end, and fails the test unless it does in time and with exit code 0.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	p.waitEnd(t, stopTimeout)
	if p.err != nil {
		t.Errorf("%s ended with %v after SIGTERM:\n%s", p.name, p.err, p.stderr.tail(2000))
	}
}

// waitEnd waits until the process is gone.
func (p *process) waitEnd(t *testing.T, within time.Duration) {
	t.Helper()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		t.Fatalf("%s did not end within %s:\n%s", p.name, within, p.stderr.tail(2000))
	}
}

// ended says whether the process is gone.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// killedBy is the signal that ended the process, 0 if none did. The process must be gone.
func (p *process) killedBy() syscall.Signal {
	var exit *exec.ExitError
	if !errors.As(p.err, &exit) {
		return 0
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}

// run starts a process, waits for its end and answers its standard output.
func run(t *testing.T, o spawn) string {
	t.Helper()
	p := start(t, o)
	p.waitEnd(t, time.Minute)
	if p.err != nil {
		t.Fatalf("%s %s: %v\n%s%s", o.name, strings.Join(o.args, " "), p.err, p.stdout, p.stderr)
	}
	return p.stdout.String()
}

// output keeps what a process writes.
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

func (o *output) tail(bytesMax int) string {
	s := o.String()
	if len(s) > bytesMax {
		return fmt.Sprintf("[%d bytes before]\n%s", len(s)-bytesMax, s[len(s)-bytesMax:])
	}
	return s
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// remarkable is the end of what was written, without the requests that went well.
func (o *output) remarkable(bytesMax int) string {
	var kept strings.Builder
	for line := range strings.Lines(o.String()) {
		if !strings.Contains(line, `"msg":"request"`) || !strings.Contains(line, `"status":200`) {
			kept.WriteString(line)
		}
	}
	s := kept.String()
	return s[max(0, len(s)-bytesMax):]
}
