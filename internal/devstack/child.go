package devstack

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// stopGrace is how long a child may take after SIGTERM before it is killed.
	stopGrace = 10 * time.Second
	// readyTimeout bounds the wait for a started child to answer, readyEvery the pause between two tries.
	readyTimeout = time.Minute
	readyEvery   = 5 * time.Millisecond
	// outputTailBytes is how much of a child's output is kept for error messages.
	outputTailBytes = 4 << 10
)

// child is one running program.
type child struct {
	cmd    *exec.Cmd
	output *tail
	// done is closed when the process is gone and reaped.
	done chan struct{}
}

// startChild runs a program with exactly the given environment.
func startChild(path string, args, env []string, dir string) (*child, error) {
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = env, dir, childAttr()
	c := &child{cmd: cmd, output: &tail{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = c.output, c.output
	started := make(chan error)
	go c.own(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("devstack: start %s: %w", path, err)
	}
	return c, nil
}

// own starts the process and waits for it on one thread, because the parent-death signal follows the thread and not the process.
func (c *child) own(started chan<- error) {
	defer close(c.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	// How it ended is of no interest: who stops it knows, and who waits for it to get ready is told by done.
	_ = c.cmd.Wait()
}

// stop asks the child to end, kills it after stopGrace, and returns when it is gone.
func (c *child) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		c.kill()
	}
}

// kill ends the child at once, as a crash would, and returns when it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// errEnded means that the child ended before it was ready.
var errEnded = errors.New("ended at once")

// waitReady asks probe until it answers nil.
func (c *child) waitReady(ctx context.Context, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(readyEvery)
	defer ticker.Stop()
	for {
		last := probe(ctx)
		select {
		case <-c.done:
			// Even if somebody answered: it was not this child.
			return fmt.Errorf("devstack: %s %w: %s", c.cmd.Path, errEnded, c.output)
		case <-ctx.Done():
			return fmt.Errorf("devstack: %s is not ready: %w: %s", c.cmd.Path, errors.Join(context.Cause(ctx), last), c.output)
		case <-ticker.C:
			if last == nil {
				return nil
			}
		}
	}
}

// tail keeps the last bytes that were written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - outputTailBytes; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

// String answers what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
