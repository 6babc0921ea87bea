package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"telefuser/api/console"
	"telefuser/jobs"
	"telefuser/openapi"
)

// Server is the HTTP front. It keeps no state of jobs: any number of them may stand behind one address.
type Server struct {
	cfg     Config
	deps    Deps
	log     *slog.Logger
	echo    *echo.Echo
	models  models
	metrics *metrics
	ready   *Readiness
	spec    []byte
	console *console.Console
	started time.Time
	ids     jobs.IDs

	// bodies bounds the memory of large JSON bodies that are decoded at once, streams the open event streams.
	bodies  *semaphore.Weighted
	streams atomic.Int64
	// decodes bounds the pictures that are decoded at once.
	decodes *semaphore.Weighted
	// fetches bounds the pictures that are fetched by URL at once.
	fetches *semaphore.Weighted
	// buffers are for receive.
	buffers sync.Pool
	// draining makes readiness false; stopping ends the streams.
	draining atomic.Bool
	stopping chan struct{}
	stopOnce sync.Once
}

// New makes a server. It reaches out to nothing, so it works while Redis and the store are still down.
func New(cfg Config, deps Deps) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Jobs == nil || deps.Store == nil || deps.DecodeImage == nil || len(deps.Contracts) == 0 {
		return nil, errors.New("api: Deps needs Jobs, Store, DecodeImage and at least one contract")
	}
	if (deps.Sessions == nil) != (deps.Rooms == nil) {
		return nil, errors.New("api: Deps has Sessions and Rooms together or neither")
	}
	cfg = cfg.withDefaults()
	models, err := newModels(cfg, deps.Contracts)
	if err != nil {
		return nil, err
	}
	spec, err := openapi.JSON()
	if err != nil {
		return nil, err
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if deps.Registry == nil {
		deps.Registry = prometheus.NewRegistry()
	}
	s := &Server{cfg: cfg, deps: deps, log: deps.Logger, models: models, spec: spec, started: time.Now(), stopping: make(chan struct{})}
	if s.console, err = newConsole(deps.Rooms); err != nil {
		return nil, err
	}
	s.bodies, s.decodes = semaphore.NewWeighted(cfg.BodyMemoryBytesMax), semaphore.NewWeighted(int64(cfg.DecodesMax))
	s.fetches = semaphore.NewWeighted(fetchesMax)
	if s.metrics, err = newMetrics(deps.Registry, s.started); err != nil {
		return nil, err
	}
	s.ready = NewReadiness(s.log, s.readyLinks()...)
	s.echo = s.newEcho()
	return s, nil
}

// Handler is the whole surface, for tests and for servers of somebody else's.
func (s *Server) Handler() http.Handler { return s.echo }

// Run serves on ln until ctx ends; then it says that it is not ready, serves on for ShutdownGrace, and closes. It returns when every
// connection has ended, nil after an orderly end.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	var background sync.WaitGroup
	defer background.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	background.Go(func() { s.runBatches(ctx) })
	defer s.ready.Close()
	server := &http.Server{
		Handler: s.echo, ReadHeaderTimeout: readHeaderTimeout, WriteTimeout: s.cfg.writeTimeout(), IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1) // one: the result of Serve, which may come after Run stopped waiting for it
	go func() { served <- s.serve(server, ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("api: serve: %w", err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	if s.cfg.ShutdownGrace > 0 {
		grace := time.NewTimer(s.cfg.ShutdownGrace)
		defer grace.Stop()
		select {
		case err := <-served:
			return fmt.Errorf("api: serve: %w", err)
		case <-grace.C:
		}
	}
	return s.shutdown(ctx, server, served)
}

func (s *Server) serve(server *http.Server, ln net.Listener) error {
	if s.cfg.TLSCertFile != "" {
		return server.ServeTLS(ln, s.cfg.TLSCertFile, s.cfg.TLSKeyFile)
	}
	return server.Serve(envelopes{ln})
}

// shutdown lets requests end and then closes what is left.
func (s *Server) shutdown(ctx context.Context, server *http.Server, served <-chan error) error {
	s.stopOnce.Do(func() { close(s.stopping) })
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(end); err != nil {
		s.log.Warn("connections are closed with requests under way")
		_ = server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("api: serve: %w", err)
	}
	return nil
}
