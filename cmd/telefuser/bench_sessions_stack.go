package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"telefuser/internal/bench"
	"telefuser/internal/devstack"
	"telefuser/openapi"
)

// liveStack is a Redis, a media server and stream-serve as processes of their own.
type liveStack struct {
	target bench.Target
	dir    string
	redis  *devstack.Redis
	media  *devstack.LiveKit
	serve  *benchRole
}

// startLiveStack returns when the first of so many workers is ready.
func startLiveStack(ctx context.Context, flags benchFlags, workers int) (_ *liveStack, err error) {
	s := &liveStack{}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if s.dir, err = os.MkdirTemp(flags.dir, "telefuser-bench-"); err != nil {
		return nil, err
	}
	if s.redis, err = devstack.StartRedis(ctx, filepath.Join(s.dir, "redis"), devstack.RedisOptions{}); err != nil {
		return nil, err
	}
	if s.media, err = devstack.StartLiveKit(ctx, filepath.Join(s.dir, "livekit"), devstack.LiveKitOptions{}); err != nil {
		return nil, err
	}
	port, err := freeLoopbackPort(ctx)
	if err != nil {
		return nil, err
	}
	s.target.URL = "http://127.0.0.1:" + strconv.Itoa(port)
	s.serve, err = startBenchRole(ctx, filepath.Join(s.dir, "serve.log"), "stream-serve", "terrain", "--host", "127.0.0.1", "--port", strconv.Itoa(port),
		"--livekit-url", s.media.URL, "--livekit-api-key", s.media.APIKey, "--livekit-api-secret", s.media.APISecret, "--num-workers", strconv.Itoa(workers), "--max-sessions-per-worker", "auto",
		"--redis-url", "redis://"+s.redis.Addr+"/0", "--data-dir", filepath.Join(s.dir, "data"), "--log-level", "warn", "--shutdown-grace", "0s",
		"--debug-addr", flags.debugAddr)
	if err != nil {
		return nil, err
	}
	return s, s.waitReady(ctx)
}

// waitReady asks until a worker is idle.
func (s *liveStack) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, devReadyTimeout)
	defer cancel()
	ticker := time.NewTicker(benchReadyEvery)
	defer ticker.Stop()
	for {
		var health openapi.Health
		err := callJSON(ctx, s.target, http.MethodGet, "/v1/service/health", http.NoBody, &health)
		if err == nil && health.WorkersIdle != nil && *health.WorkersIdle > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-s.serve.done:
			return fmt.Errorf("stream-serve ended: %s", s.serve.tail())
		case <-ticker.C:
		}
	}
}

func (s *liveStack) stop() {
	if s.serve != nil {
		s.serve.stop()
	}
	if s.media != nil {
		s.media.Stop()
	}
	if s.redis != nil {
		s.redis.Stop()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // temporary, and told of nowhere
	}
}

// The processes of the service itself.
const (
	processServe  = "serve"
	processEngine = "engine"
)

// processes are all that the sessions cost this machine, the viewers in this process included.
func (s *liveStack) processes() []bench.Process {
	serve := s.serve.cmd.Process.Pid
	all := []bench.Process{{Name: processServe, PID: serve}}
	for _, engine := range bench.Children(serve) {
		all = append(all, bench.Process{Name: processEngine, PID: engine})
	}
	return append(all, bench.Process{Name: "livekit", PID: s.media.PID()}, bench.Process{Name: "redis", PID: s.redis.PID()},
		bench.Process{Name: "viewers", PID: os.Getpid()})
}

// sessionWorlds are what sessions fly through, one after the other.
func sessionWorlds() []string {
	return []string{"an alpine lake in the morning", "tropical islands at noon", "a desert canyon", "an autumn forest", "a green valley between snowy mountains"}
}

// create asks for session i.
func (b *benchSessions) create(ctx context.Context, s *liveStack, i int) (openapi.SessionTicket, error) {
	worlds := sessionWorlds()
	chunk := ""
	if b.chunk > 0 {
		chunk = fmt.Sprintf(`,"chunk_size":%d`, b.chunk)
	}
	body := fmt.Sprintf(`{"identity":"pilot","prompt":%q,"seed":%d,"size":%q,"fps":%d,"delivery_mode":"latest"%s}`, worlds[i%len(worlds)], i, b.size, b.fps, chunk)
	var ticket openapi.SessionTicket
	err := callJSON(ctx, s.target, http.MethodPost, "/v1/stream/sessions", strings.NewReader(body), &ticket)
	return ticket, err
}

// end ends a session, whatever became of the measurement.
func (s *liveStack) end(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), benchStopTimeout)
	defer cancel()
	var object openapi.Session
	_ = callJSON(ctx, s.target, http.MethodDelete, "/v1/stream/sessions/"+id, http.NoBody, &object) // it ends by itself when nobody is there
}
