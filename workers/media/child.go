package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// FFmpeg says which ffmpeg is run and with how much of the machine.
type FFmpeg struct {
	// Path of the program; "" means ffmpeg on PATH.
	Path string
	// Threads is how many threads the encoder uses; 0 means 1. The same frames give the same bytes only for the same number.
	Threads int
}

func (ff FFmpeg) path() string {
	if ff.Path == "" {
		return "ffmpeg"
	}
	if strings.ContainsRune(ff.Path, filepath.Separator) {
		// The child runs in another folder.
		if abs, err := filepath.Abs(ff.Path); err == nil {
			return abs
		}
	}
	return ff.Path
}

func (ff FFmpeg) threads() int { return max(1, ff.Threads) }

const (
	// stderrBytesMax is how much of ffmpeg's complaints is kept; the first ones name the cause.
	stderrBytesMax = 4 << 10
	// pipeGrace bounds the wait for the pipes of a child that was killed.
	pipeGrace = 2 * time.Second
)

// ffmpegAdvice says how to get the program.
const ffmpegAdvice = "Debian and Ubuntu: apt-get install ffmpeg"

// errNotStarted is an ffmpeg that is not there or cannot run; what wraps it holds ffmpegAdvice.
var errNotStarted = fmt.Errorf("%w: ffmpeg does not start", ErrEncoder)

// child is one running ffmpeg.
type child struct {
	cmd    *exec.Cmd
	stderr *head
	// done is closed when the process is gone; err is set before.
	done chan struct{}
	err  error
}

// startChild runs ffmpeg in dir, without a shell, a terminal or our environment, and kills it when ctx ends. in and out may be nil.
func startChild(ctx context.Context, ff FFmpeg, dir string, args []string, in io.Reader, out io.Writer) (*child, error) {
	args = append([]string{"-hide_banner", "-nostdin", "-nostats", "-v", "error"}, args...)
	c := &child{cmd: exec.CommandContext(ctx, ff.path(), args...), stderr: &head{}, done: make(chan struct{})}
	c.cmd.Dir, c.cmd.Env, c.cmd.SysProcAttr = dir, []string{"LC_ALL=C", "AV_LOG_FORCE_NOCOLOR=1"}, childAttr()
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = in, out, c.stderr, pipeGrace
	started := make(chan error)
	go c.own(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%w: %v (%s)", errNotStarted, err, ffmpegAdvice)
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
	if err == nil {
		c.err = c.cmd.Wait()
	}
}

// wait answers how the child ended.
func (c *child) wait(ctx context.Context) error {
	<-c.done
	if c.err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("media: ffmpeg: %w", errors.Join(ctx.Err(), context.Cause(ctx)))
	}
	said := c.stderr.String()
	if strings.Contains(said, "No space left on device") {
		return fmt.Errorf("%w: ffmpeg: %s", ErrNoSpace, said)
	}
	return fmt.Errorf("%w: ffmpeg: %v: %s", ErrEncoder, c.err, said)
}

// runChild runs ffmpeg to its end.
func runChild(ctx context.Context, ff FFmpeg, dir string, args []string, in io.Reader, out io.Writer) error {
	c, err := startChild(ctx, ff, dir, args, in, out)
	if err != nil {
		return err
	}
	return c.wait(ctx)
}

// head keeps the first bytes that were written to it.
type head struct {
	mu  sync.Mutex
	buf []byte
}

// Write never fails, so that the child never stands on a full pipe.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf = append(h.buf, p[:min(len(p), stderrBytesMax-len(h.buf))]...)
	return len(p), nil
}

// String answers what is kept, on one line.
func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.ReplaceAll(strings.TrimSpace(string(h.buf)), "\n", "; ")
}
