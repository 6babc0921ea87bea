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
	"telefuser/openapi"
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

// newReadiness is about what every role stands on and, where there is one, about the program's own part.
func newReadiness(p *parts, program func(context.Context) error) *api.Readiness {
	links := []api.Link{{Reason: openapi.ReadyReasonRecords, Look: p.records.Ping}, {Reason: openapi.ReadyReasonStorage, Look: p.objects.Check, SlowMax: api.SlowMax}}
	if program != nil {
		links = append(links, api.Link{Reason: openapi.ReadyReasonProgram, Look: program})
	}
	return api.NewReadiness(p.log, links...)
}

// runDebug serves profiles and metrics on a listener of its own until ctx ends; an empty address turns it off.
func runDebug(ctx context.Context, addr string, registry *prometheus.Registry, ready *api.Readiness) error {
	defer ready.Close()
	if addr == "" {
		return nil
	}
	server := &http.Server{Addr: addr, Handler: api.DebugHandler(registry, ready), ReadHeaderTimeout: debugHeaderTimeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("debug listener: %w", err)
	}
	return nil
}

// withDebug runs a role beside the debug listener, which ends when the role does.
func withDebug(ctx context.Context, addr string, registry *prometheus.Registry, ready *api.Readiness, run func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return runDebug(ctx, addr, registry, ready) })
	group.Go(func() error { defer stop(); return run(ctx) })
	return group.Wait()
}
