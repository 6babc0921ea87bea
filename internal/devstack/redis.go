package devstack

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// RedisOptions shapes a redis-server. The zero value listens on a random loopback port and keeps an AOF that is synced every second.
type RedisOptions struct {
	// Port on 127.0.0.1; 0 means a random one.
	Port int
	// Socket, when set, is the path of a Unix socket to listen on instead of a port.
	Socket string
	// AppendFsync is "everysec" (also when empty), "always" or "no".
	AppendFsync string
	// MaxMemoryBytes bounds its memory, without eviction; 0 means no bound.
	MaxMemoryBytes int64
}

// Redis is a redis-server child. Its methods are called from one goroutine at a time.
type Redis struct {
	// Network is "tcp" or "unix", Addr what to dial on it. Both stay the same over Restart.
	Network, Addr string

	path, dir string
	opts      RedisOptions
	child     *child
}

// redisDialTimeout bounds one look at whether it is ready.
const redisDialTimeout = time.Second

// StartRedis starts redis-server with its files in dir, which is made when it is missing, and returns when it answers.
func StartRedis(ctx context.Context, dir string, o RedisOptions) (*Redis, error) {
	path, err := LookTool("redis-server")
	if err != nil {
		return nil, fmt.Errorf("%w (or `apt-get install redis-server`)", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("devstack: redis directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("devstack: redis directory: %w", err)
	}
	r := &Redis{path: path, dir: dir, opts: o}
	if o.Socket != "" {
		r.Network, r.Addr = "unix", o.Socket
		return r, r.start(ctx)
	}
	err = withPort(o.Port, func(port int) error {
		r.Network, r.Addr, r.opts.Port = "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), port
		return r.start(ctx)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// PID is the process id of the running server.
func (r *Redis) PID() int { return r.child.cmd.Process.Pid }

// Done is closed when the running server has ended, for whatever reason.
func (r *Redis) Done() <-chan struct{} { return r.child.done }

// Stop ends it orderly.
func (r *Redis) Stop() { r.child.stop() }

// Kill ends it as a crash would.
func (r *Redis) Kill() { r.child.kill() }

// Restart starts it again after Stop or Kill, at the same address and with the same files.
func (r *Redis) Restart(ctx context.Context) error {
	<-r.child.done
	return r.start(ctx)
}

func (r *Redis) start(ctx context.Context) error {
	c, err := startChild(r.path, r.args(), []string{"LC_ALL=C"}, r.dir)
	if err != nil {
		return err
	}
	if err := c.waitReady(ctx, r.ping); err != nil {
		c.kill()
		return err
	}
	r.child = c
	return nil
}

func (r *Redis) args() []string {
	fsync := r.opts.AppendFsync
	if fsync == "" {
		fsync = "everysec"
	}
	args := []string{
		"--dir", r.dir, "--daemonize", "no", "--save", "", "--appendonly", "yes", "--appendfsync", fsync,
		"--maxmemory", strconv.FormatInt(r.opts.MaxMemoryBytes, 10), "--maxmemory-policy", "noeviction",
		"--port", strconv.Itoa(r.opts.Port),
	}
	if r.opts.Socket != "" {
		return append(args, "--unixsocket", r.opts.Socket, "--unixsocketperm", "700")
	}
	return append(args, "--bind", "127.0.0.1")
}

// ping speaks the inline protocol, so that this room needs no client.
func (r *Redis) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisDialTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, r.Network, r.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, "+PONG") {
		return fmt.Errorf("redis answers %q", strings.TrimSpace(line))
	}
	return nil
}
