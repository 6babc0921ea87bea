package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"telefuser/api"
	"telefuser/internal/config"
	"telefuser/workers"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [PIPELINE]",
		Short: "Serve the HTTP API; with a PIPELINE also run its jobs",
		Long: "serve answers the HTTP API. With the LiveKit settings it also takes live sessions, which the workers of stream-serve\n" +
			"processes on the same Redis run.",
		Args: cobra.MatchAll(cobra.MaximumNArgs(1), knownPipelines),
	}
	withParts(cmd, func(ctx context.Context, p *parts, args []string) error {
		if p.cfg.LiveKit.URL != "" {
			rooms, err := openRooms(p.cfg.LiveKit, p.log)
			if err != nil {
				return err
			}
			if p.live, err = openLive(p, rooms); err != nil {
				return err
			}
		}
		return serve(ctx, p, strings.Join(args, ""), nil)
	})
	return cmd
}

// serve runs the API, with a worker where a pipeline is named, until ctx ends. listening is told the API's address.
func serve(ctx context.Context, p *parts, pipelineName string, listening func(url string)) error {
	registry := newRegistry(ctx, p)
	var worker *workers.Worker
	var ready func(context.Context) error
	if pipelineName != "" {
		var err error
		if worker, err = newWorker(p, pipelineName, registry, ""); err != nil {
			return err
		}
		ready = func(context.Context) error { return worker.Ready() }
	}
	if p.live != nil {
		registry.MustRegister(p.live.collectors()...)
	}
	server, err := newAPI(p, registry, ready)
	if err != nil {
		return err
	}
	listen := net.ListenConfig{}
	ln, err := listen.Listen(ctx, "tcp", net.JoinHostPort(p.cfg.HTTP.Host, strconv.Itoa(p.cfg.HTTP.Port)))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if listening != nil {
		listening(baseURL(p.cfg.HTTP, ln.Addr()))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Run(ctx, ln) })
	group.Go(func() error { return runDebug(ctx, p.cfg.HTTP.DebugAddr, registry, newReadiness(p, ready)) })
	if p.live != nil {
		group.Go(func() error { return p.live.run(ctx) })
	}
	if worker != nil {
		group.Go(func() error { return runWorker(ctx, p, worker, registry) })
	} else {
		group.Go(func() error { return runCaretakers(ctx, p, registry) })
	}
	return group.Wait()
}

// newAPI wires the API. ready, where there is one, is what this process needs beside Redis and the object store.
func newAPI(p *parts, registry *prometheus.Registry, ready func(context.Context) error) (*api.Server, error) {
	aliases, err := modelAliases(p.cfg.Models)
	if err != nil {
		return nil, err
	}
	h, temp := p.cfg.HTTP, p.cfg.TempDir()
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return nil, fmt.Errorf("temporary files: %w", err)
	}
	c, d := api.Config{
		Auth: api.AuthMode(h.Auth), Version: version, DefaultPipeline: p.cfg.Models.Default, ModelAliases: aliases, CORSOrigins: h.CORSOrigins,
		TLSCertFile: h.TLSCert, TLSKeyFile: h.TLSKey, MetricsPublic: h.MetricsPublic, RedirectContent: h.RedirectContent,
		ShutdownGrace: orNone(h.ShutdownGrace), QueuedMax: p.cfg.Jobs.QueuedMax, TempDir: temp,
	}, api.Deps{
		Jobs: p.records, Store: p.objects, Contracts: pipeline.Contracts(), DecodeImage: decodePicture, Registry: registry, Logger: p.log, Ready: ready, Tracer: p.tracer,
	}
	if err := withOutbound(p, &d); err != nil {
		return nil, err
	}
	if p.live != nil {
		c.Stream, d.Sessions, d.Rooms = p.live.shown, p.live.sessions, p.live.rooms
	}
	return api.New(c, d)
}

// orNone turns a grace of nothing into the API's word for it, since its zero means the default.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// decodePicture is media's decoder in the API's words. What is larger than any video here is measured alone, for it will be refused by its size.
func decodePicture(ctx context.Context, r io.Reader) (api.Picture, error) {
	img, err := media.DecodeImage(ctx, r, media.ImageLimits{MeasureAbove: pixelsMax()})
	switch {
	case errors.Is(err, media.ErrImageType):
		return api.Picture{}, fmt.Errorf("%w: %w", api.ErrImageType, err)
	case errors.Is(err, media.ErrImageTooLarge):
		return api.Picture{}, fmt.Errorf("%w: %w", api.ErrImageTooLarge, err)
	case errors.Is(err, media.ErrImageCorrupt):
		return api.Picture{}, fmt.Errorf("%w: %w", api.ErrImageCorrupt, err)
	case err != nil:
		return api.Picture{}, err
	}
	if img.RGB == nil {
		return api.Picture{Width: img.Width, Height: img.Height}, nil
	}
	png, err := media.EncodePNG(img)
	if err != nil {
		return api.Picture{}, err
	}
	return api.Picture{Width: img.Width, Height: img.Height, PNG: png}, nil
}

// pixelsMax is the most pixels that a frame of any pipeline has.
func pixelsMax() int {
	most := 0
	for _, c := range pipeline.Contracts() {
		most = max(most, c.Geometry.PixelsMax)
	}
	return most
}

func modelAliases(c config.Models) (map[string]string, error) {
	aliases := map[string]string{}
	for _, pair := range c.Aliases {
		alias, name, ok := strings.Cut(pair, "=")
		if _, err := pipeline.New(name); !ok || err != nil {
			return nil, fmt.Errorf("%w: models.aliases: %q is not alias=pipeline", config.ErrInvalid, pair)
		}
		aliases[alias] = name
	}
	return aliases, nil
}

func baseURL(c config.HTTP, addr net.Addr) string {
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + addr.String()
}
