package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"telefuser/internal/config"
)

// streamPort is where clients of live sessions look for them.
const streamPort = 8088

func newStreamServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stream-serve PIPELINE",
		Short: "Serve live sessions: the HTTP API and the workers of one pipeline",
		Long: "stream-serve answers /v1/stream and runs sessions on engine processes, published through a LiveKit server.\n" +
			"Without --redis-url it starts a redis-server of its own. It listens on 127.0.0.1:8088 and asks for no API key there;\n" +
			"on another --host it does, unless --auth says otherwise. It prints one line, ready http://..., when a worker is ready.",
		Args: cobra.MatchAll(cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error { return streamPipeline(args[0]) }),
	}
	load := settingsFrom(cmd, streamConfig("off"))
	cmd.Flags().Bool("skip-validation", false, "taken for old command lines: built-in pipelines have no file to validate")
	faultDir := faultDirFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := loadStream(load)
		if err != nil {
			return err
		}
		return streamServe(cmd.Context(), c, args[0], *faultDir, func(url string) {
			fmt.Fprintln(cmd.OutOrStdout(), "ready", url)
		})
	}
	return cmd
}

// streamPipeline refuses what is no built-in pipeline, and says of files why.
func streamPipeline(name string) error {
	if strings.HasSuffix(name, ".py") || strings.ContainsAny(name, `/\`) {
		return usageError{fmt.Errorf("%s: pipelines in Python files are not supported; name a built-in one: %w", name, knownPipeline(name))}
	}
	return knownPipeline(name)
}

// streamConfig is what stream-serve starts from. Its Redis is its own where none is named.
func streamConfig(auth string) config.Config {
	c := config.Default()
	c.HTTP.Port, c.HTTP.Auth, c.Redis.URL = streamPort, auth, ""
	return c
}

// loadStream reads the settings. Who may call is open only on an address that nobody else reaches, unless it is said.
func loadStream(load func(base config.Config) (config.Config, error)) (config.Config, error) {
	c, err := load(streamConfig("off"))
	if ip := net.ParseIP(c.HTTP.Host); err != nil || c.HTTP.Host == "localhost" || ip != nil && ip.IsLoopback() {
		return c, err
	}
	return load(streamConfig("keys"))
}

// streamServe runs the API and the workers until ctx ends, and tells ready its address when a worker is ready.
func streamServe(ctx context.Context, c config.Config, name, faultDir string, ready func(url string)) error {
	log := stderrLogger(c.Log)
	rooms, err := openRooms(c.LiveKit, log)
	if err != nil {
		return err
	}
	accepts, err := contractOf(name)
	if err != nil {
		return err
	}
	c.Models.Default = accepts.Name
	stopRedis, err := ensureRedis(ctx, &c, log)
	if err != nil {
		return err
	}
	defer stopRedis()
	p, err := openParts(ctx, c, log)
	if err != nil {
		return err
	}
	defer p.close(ctx)
	p.faultDir = faultDir
	if p.live, err = openLive(p, rooms); err != nil {
		return err
	}
	p.live.shown.Primary = true
	if err := p.live.addWorkers(ctx, p, name); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return serve(ctx, p, "", func(url string) {
			group.Go(func() error { p.live.checkRooms(ctx); return nil })
			group.Go(func() error {
				if !p.live.waitWorker(ctx) {
					return nil
				}
				return announce(ctx, url, devReadyTimeout, ready)
			})
		})
	})
	return group.Wait()
}
