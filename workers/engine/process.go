package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"telefuser/workers/engine/enginepb"
)

const (
	// stderrLineBytesMax bounds a line of the engine's standard error; what is longer is cut into several.
	stderrLineBytesMax = 8 << 10
	// stderrGrace is how long the last lines may take when the process is gone but somebody still holds its standard error.
	stderrGrace = time.Second
)

// process is one engine process, from its start until everything of it is gone.
type process struct {
	cfg    Config
	log    *slog.Logger
	dir    *PrivateDir
	cmd    *exec.Cmd
	conn   *grpc.ClientConn
	client enginepb.EngineClient
	// parent is our end of its standard input: it lives as long as this does.
	parent *os.File
	stderr *os.File
	logged chan struct{}
	// frames is the memory that the engine may put frames into, inherited as descriptor framesFD; nil where there is none.
	frames   *frameMemory
	framesFD int

	// serving is set when the engine is loaded and may hear of prompts.
	serving atomic.Bool

	mu sync.Mutex
	// cause is why we end it; nil while it may live.
	cause *Error
	// doomed is closed when the process is ending or has to: it gets no more work. mu guards the closing.
	doomed chan struct{}
	// death is why it ended; read it when gone is closed.
	death *Error
	gone  chan struct{}
}

// spawn starts an engine that holds the locks as well.
func spawn(cfg Config, locks []*DeviceLock) (*process, error) {
	dir, err := NewPrivateDir(cfg.socketPlace())
	if err != nil {
		return nil, err
	}
	p := &process{cfg: cfg, log: cfg.Log, dir: dir, doomed: make(chan struct{}),
		gone: make(chan struct{}), logged: make(chan struct{})}
	if err := p.start(locks); err != nil {
		return nil, errors.Join(fmt.Errorf("engine: spawn: %w", err), dir.Remove())
	}
	return p, nil
}

func (p *process) start(locks []*DeviceLock) error {
	socket := filepath.Join(p.dir.Path, socketName)
	if err := p.dial(socket); err != nil {
		return err
	}
	childIn, parent, err := os.Pipe()
	if err != nil {
		return err
	}
	stderr, childErr, err := os.Pipe()
	if err != nil {
		return errors.Join(err, childIn.Close(), parent.Close())
	}
	p.parent, p.stderr = parent, stderr
	argv := append(append([]string{}, p.cfg.Command...), "--socket", socket)
	p.cmd = exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is ended as a group, in steps
	p.cmd.Env = append([]string{}, p.cfg.Env...)
	p.cmd.Dir, p.cmd.Stdin, p.cmd.Stderr = p.cfg.Dir, childIn, childErr
	p.cmd.SysProcAttr = processAttributes()
	p.cmd.ExtraFiles = []*os.File{p.dir.lock}
	for _, lock := range locks {
		p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, lock.file)
	}
	shared := p.shareFrames()
	started := make(chan error, 1) // one answer
	go p.live(started)
	err = <-started
	closed := errors.Join(childIn.Close(), childErr.Close(), shared.Close())
	if err != nil {
		return errors.Join(err, closed, parent.Close(), stderr.Close(), p.conn.Close(), p.dropFrames())
	}
	go p.readLog()
	return nil
}

func (p *process) dial(socket string) error {
	conn, err := grpc.NewClient("unix:"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytesMax), grpc.MaxCallSendMsgSize(messageBytesMax), grpc.ForceCodecV2(newFrameCodec())),
		grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(windowBytes),
		// The socket appears some milliseconds after the process: look for it often.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1.3, MaxDelay: 100 * time.Millisecond},
			MinConnectTimeout: 5 * time.Second,
		}))
	if err != nil {
		return err
	}
	p.conn, p.client = conn, enginepb.NewEngineClient(conn)
	return nil
}

// live starts the process and waits for its end. It stays on one thread, because the kernel takes the end of the thread that made a
// child for the death of the parent.
func (p *process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	p.log = p.cfg.Log.With("engine_pid", p.cmd.Process.Pid)
	started <- nil
	err := p.cmd.Wait()
	p.signal(syscall.SIGKILL) // what is left of its group
	p.finish(err)
}

// finish tidies up after the process and tells everybody.
func (p *process) finish(waited error) {
	_ = p.stderr.SetReadDeadline(time.Now().Add(stderrGrace))
	<-p.logged
	err := errors.Join(p.stderr.Close(), p.parent.Close(), p.conn.Close(), p.dir.Remove(), p.dropFrames())
	if err != nil {
		p.log.Warn("engine left something behind", "error", err)
	}
	p.mu.Lock()
	p.death = p.cause
	if p.death == nil {
		p.death = p.deathOf(waited)
	}
	p.mu.Unlock()
	p.doom(nil)
	close(p.gone)
}

// deathOf reads how a process ended that nobody here has ended.
func (p *process) deathOf(waited error) *Error {
	state := p.cmd.ProcessState
	if state == nil {
		return &Error{Class: ClassCrashed, Message: fmt.Sprint(waited)}
	}
	return &Error{Class: exitClass(state.ExitCode()), Message: state.String()}
}

// readLog passes the engine's standard error on, line by line.
func (p *process) readLog() {
	defer close(p.logged)
	r := bufio.NewReaderSize(p.stderr, stderrLineBytesMax)
	for {
		line, _, err := r.ReadLine()
		if err != nil {
			return
		}
		p.cfg.Log.Debug("engine says", "pipeline", p.cfg.Pipeline, "line", string(line))
	}
}

// signal reaches the whole group; that there is nobody left is no error.
func (p *process) signal(sig syscall.Signal) {
	if err := syscall.Kill(-p.cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.log.Warn("engine could not be signalled", "signal", sig.String(), "error", err)
	}
}

// isGone says whether the process has ended.
func (p *process) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// isDoomed says whether the process is ending.
func (p *process) isDoomed() bool {
	select {
	case <-p.doomed:
		return true
	default:
		return false
	}
}

// doom says that the process is ending or has to; watch sees to it. A nil cause leaves it to the process to say why.
func (p *process) doom(cause *Error) {
	if cause != nil {
		p.blame(cause)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isDoomed() {
		close(p.doomed)
	}
}

// blamed is why the process is being ended; nil while it may live.
func (p *process) blamed() *Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

// blame keeps the first reason to end the process.
func (p *process) blame(cause *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause == nil {
		p.cause = cause
	}
}

// goneWithin waits for the end, but not for longer than d.
func (p *process) goneWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.gone:
		return true
	case <-timer.C:
		return p.isGone()
	}
}

// kill ends the process and answers when it is gone, however long the kernel takes: until then it may hold its device.
func (p *process) kill(cause *Error) {
	p.doom(cause)
	if p.isGone() {
		return
	}
	p.signal(syscall.SIGTERM)
	if p.goneWithin(p.cfg.KillGrace) {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.gone
}

// shutdown ends the process in good order if it listens. It does so even when ctx has ended.
func (p *process) shutdown(ctx context.Context, cause *Error) {
	p.doom(cause)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.KillGrace)
	defer cancel()
	if _, err := p.client.Shutdown(ctx, &enginepb.ShutdownRequest{}); err == nil && p.goneWithin(p.cfg.KillGrace) {
		return
	}
	p.kill(cause)
}

// join gives a context that ends with ctx or with the process.
func (p *process) join(ctx context.Context) (context.Context, context.CancelFunc) {
	joined, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-p.gone:
			cancel(p.death)
		case <-joined.Done():
		}
	}()
	return joined, func() {
		cancel(nil)
		<-done
	}
}
