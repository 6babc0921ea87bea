package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"telefuser/api"
)

// debugHeaderTimeout bounds a request's header on the debug listener.
const debugHeaderTimeout = 5 * time.Second

// newRegistry holds what every process that opened the records measures.
func newRegistry(ctx context.Context, p *parts) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), p.records.Collector())
	if gpus := shownGPUs(ctx, p.cfg); gpus != nil {
		registry.MustRegister(gpus)
	}
	return registry
}

// runDebug serves profiles and metrics on a listener of its own until ctx ends; an empty address turns it off.
func runDebug(ctx context.Context, addr string, registry *prometheus.Registry) error {
	if addr == "" {
		return nil
	}
	server := &http.Server{Addr: addr, Handler: api.DebugHandler(registry), ReadHeaderTimeout: debugHeaderTimeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("debug listener: %w", err)
	}
	return nil
}

// withDebug runs a role beside the debug listener, which ends when the role does.
func withDebug(ctx context.Context, addr string, registry *prometheus.Registry, run func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return runDebug(ctx, addr, registry) })
	group.Go(func() error { defer stop(); return run(ctx) })
	return group.Wait()
}
