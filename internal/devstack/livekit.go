package devstack

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// livekitStopEvery is the pause between two requests to end.
const livekitStopEvery = 100 * time.Millisecond

// LiveKitOptions shape one media server.
type LiveKitOptions struct {
	// Port is its TCP port and UDPPort the one of its media; 0 means random ones.
	Port, UDPPort int
	// APIKey and APISecret are its account; empty ones are made.
	APIKey, APISecret string
}

// LiveKit is a livekit-server child: a media server that listens on loopback only and forgets its rooms when it ends. Its methods are called from one
// goroutine at a time.
type LiveKit struct {
	// URL is its address; it and the account stay the same over Restart.
	URL               string
	APIKey, APISecret string

	path, dir     string
	port, udpPort int
	child         *child
}

// StartLiveKit starts the server with its configuration in dir, which is made when it is missing, and returns when it answers. Nobody gets into a room that
// was not made before.
func StartLiveKit(ctx context.Context, dir string, o LiveKitOptions) (*LiveKit, error) {
	path, err := LookTool("livekit-server")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("devstack: livekit directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("devstack: livekit directory: %w", err)
	}
	l := &LiveKit{APIKey: o.APIKey, APISecret: o.APISecret, path: path, dir: dir}
	if l.APIKey == "" {
		l.APIKey = "dev" + rand.Text()[:13]
	}
	if l.APISecret == "" {
		l.APISecret = rand.Text() + rand.Text()
	}
	err = withPort(o.Port, func(port int) error {
		l.port, l.udpPort, l.URL = port, o.UDPPort, "ws://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if l.udpPort == 0 {
			if l.udpPort, err = freeUDPPort(); err != nil {
				return err
			}
		}
		return l.start(ctx)
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// PID is its process id.
func (l *LiveKit) PID() int { return l.child.cmd.Process.Pid }

// Stop ends it orderly, but without waiting for those in a room to leave.
func (l *LiveKit) Stop() {
	// The first signal makes it wait until its rooms are empty, the second end. Two at once may arrive as one, so it is told again and again.
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	ticker := time.NewTicker(livekitStopEvery)
	defer ticker.Stop()
	for {
		_ = l.child.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-l.child.done:
			return
		case <-timer.C:
			l.child.kill()
			return
		case <-ticker.C:
		}
	}
}

// Kill ends it as a crash would.
func (l *LiveKit) Kill() { l.child.kill() }

// Restart starts it again after Stop or Kill, at the same address, without any room.
func (l *LiveKit) Restart(ctx context.Context) error {
	<-l.child.done
	return l.start(ctx)
}

func (l *LiveKit) start(ctx context.Context) error {
	file := filepath.Join(l.dir, "livekit.yaml")
	if err := os.WriteFile(file, []byte(l.config()), 0o600); err != nil {
		return fmt.Errorf("devstack: livekit configuration: %w", err)
	}
	c, err := startChild(l.path, []string{"--config", file}, nil, l.dir)
	if err != nil {
		return err
	}
	if err := c.waitReady(ctx, l.answers); err != nil {
		c.kill()
		return err
	}
	l.child = c
	return nil
}

// config keeps everything on loopback. ICE over TCP would listen on every address, so it is off; without a STUN server of its own, which nobody answers
// for, the server would send its clients to public ones.
func (l *LiveKit) config() string {
	return fmt.Sprintf(`port: %d
bind_addresses: ["127.0.0.1"]
rtc:
  tcp_port: 0
  udp_port: %d
  node_ip: 127.0.0.1
  use_external_ip: false
  interfaces: { includes: [lo] }
  enable_loopback_candidate: true
  stun_servers: ["127.0.0.1:9"]
room:
  auto_create: false
keys:
  %q: %q
logging: { level: warn }
`, l.port, l.udpPort, l.APIKey, l.APISecret)
}

// answers is nil when the server says anything by HTTP.
func (l *LiveKit) answers(ctx context.Context) error {
	return answersHTTP(ctx, "http://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(l.port)))
}
