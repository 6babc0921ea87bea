package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"telefuser/internal/bench"
	"telefuser/internal/config"
	"telefuser/internal/devstack"
	"telefuser/openapi"
)

const (
	// benchStopTimeout is how long a started role may take to end before it is killed.
	benchStopTimeout = 20 * time.Second
	benchReadyEvery  = 5 * time.Millisecond
	// benchLogTailBytes is how much of a role's log is shown when it did not start.
	benchLogTailBytes = 4 << 10
	// benchQueuedMax keeps the limit of queued jobs out of the measurements.
	benchQueuedMax = "1000000"
)

// benchStack is a Redis and an API as processes of their own, with a worker where one is asked for.
type benchStack struct {
	target bench.Target
	redis  *devstack.Redis
	dir    string
	api    *benchRole
	worker *benchRole
}

type benchStackOptions struct {
	benchFlags
	// auth makes the API ask for a key.
	auth bool
	// worker is the pipeline of the worker; empty starts none.
	worker string
}

// startBenchStack returns when the API is ready, and the worker too where there is one.
func startBenchStack(ctx context.Context, o benchStackOptions) (_ *benchStack, err error) {
	s := &benchStack{}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if s.dir, err = os.MkdirTemp(o.dir, "telefuser-bench-"); err != nil {
		return nil, err
	}
	if s.redis, err = devstack.StartRedis(ctx, filepath.Join(s.dir, "redis"), devstack.RedisOptions{}); err != nil {
		return nil, err
	}
	port, err := freeLoopbackPort(ctx)
	if err != nil {
		return nil, err
	}
	s.target.URL = "http://127.0.0.1:" + strconv.Itoa(port)
	mode := "off"
	if o.auth {
		mode = "keys"
		out, err := s.call(ctx, "keys", "create")
		if err != nil {
			return nil, err
		}
		s.target.Key = string(bytes.TrimSpace(out))
	}
	s.api, err = s.role(ctx, "serve", "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--auth", mode, "--shutdown-grace", "0s",
		"--queued-max", benchQueuedMax, "--debug-addr", o.debugAddr)
	if err != nil {
		return nil, err
	}
	if o.worker != "" {
		if s.worker, err = s.role(ctx, "worker", o.worker); err != nil {
			return nil, err
		}
	}
	return s, s.waitReady(ctx, o.worker != "")
}

// stop ends everything and removes what it kept.
func (s *benchStack) stop() {
	for _, r := range []*benchRole{s.worker, s.api} {
		if r != nil {
			r.stop()
		}
	}
	if s.redis != nil {
		s.redis.Stop()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // temporary, and told of nowhere
	}
}

func (s *benchStack) processes() []bench.Process {
	return []bench.Process{{Name: "api", PID: s.api.cmd.Process.Pid}, {Name: "redis", PID: s.redis.PID()}, {Name: "bench", PID: os.Getpid()}}
}

// parts opens the stack's records and objects from this process.
func (s *benchStack) parts(ctx context.Context) (*parts, error) {
	c := config.Default()
	c.Redis.URL, c.DataDir, c.Log.Level = s.redisURL(), s.dataDir(), "warn"
	return openParts(ctx, c, stderrLogger(c.Log))
}

func (s *benchStack) redisURL() string { return "redis://" + s.redis.Addr + "/0" }
func (s *benchStack) dataDir() string  { return filepath.Join(s.dir, "data") }

// args are the settings that every role shares.
func (s *benchStack) args() []string {
	return []string{"--redis-url", s.redisURL(), "--data-dir", s.dataDir(), "--log-level", "warn"}
}

// call runs a command of this program to its end and answers what it printed.
func (s *benchStack) call(ctx context.Context, command ...string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, append(command, s.args()...)...)
	cmd.Env = engineEnv(config.Environ())
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", command, err)
	}
	return out, nil
}

// role starts this program in one of its roles.
func (s *benchStack) role(ctx context.Context, args ...string) (*benchRole, error) {
	return startBenchRole(ctx, filepath.Join(s.dir, args[0]+".log"), append(args, s.args()...)...)
}

// waitReady asks until the API says that it is ready, and that a worker is up where one is wanted.
func (s *benchStack) waitReady(ctx context.Context, worker bool) error {
	ctx, cancel := context.WithTimeout(ctx, devReadyTimeout)
	defer cancel()
	ticker := time.NewTicker(benchReadyEvery)
	defer ticker.Stop()
	for {
		err := s.ready(ctx, worker)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-s.api.done:
			return fmt.Errorf("the API ended: %s", s.api.tail())
		case <-ticker.C:
		}
	}
}

func (s *benchStack) ready(ctx context.Context, worker bool) error {
	if err := check(ctx, s.target.URL+"/v1/service/ready"); err != nil || !worker {
		return err
	}
	select {
	case <-s.worker.done:
		return fmt.Errorf("the worker ended: %s", s.worker.tail())
	default:
	}
	var health openapi.Health
	if err := callJSON(ctx, s.target, http.MethodGet, "/v1/service/health", http.NoBody, &health); err != nil {
		return err
	}
	if !health.PipelineReady {
		return errors.New("no worker is up")
	}
	return nil
}

// benchRole is this program as a child.
type benchRole struct {
	cmd *exec.Cmd
	log string
	// done is closed when it is gone.
	done chan struct{}
}

// startBenchRole starts it with its log in a file. Settings of the environment do not reach it. It is asked to end when ctx does.
func startBenchRole(ctx context.Context, logFile string, args ...string) (*benchRole, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own program: %w", err)
	}
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env, cmd.Stdout, cmd.Stderr = engineEnv(config.Environ()), log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &benchRole{cmd: cmd, log: logFile, done: make(chan struct{})}
	go func() { defer close(r.done); _ = cmd.Wait() }()
	return r, nil
}

func (r *benchRole) stop() {
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	timer := time.NewTimer(benchStopTimeout)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		_ = r.cmd.Process.Kill()
		<-r.done
	}
}

// tail is the end of its log.
func (r *benchRole) tail() string {
	log, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-benchLogTailBytes):])
}

// freeLoopbackPort answers a port that is free now; nobody keeps it.
func freeLoopbackPort(ctx context.Context) (int, error) {
	listen := net.ListenConfig{}
	ln, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port, nil
}
