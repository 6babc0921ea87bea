package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"telefuser/internal/config"
	"telefuser/internal/devstack"
)

// devReadyTimeout bounds how long the embedded stack may take to become ready; devReadyEvery is the pause between two looks.
const (
	devReadyTimeout = time.Minute
	devReadyEvery   = 10 * time.Millisecond
)

func newDevCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine, with nothing to install",
		Long: "dev runs the API, a worker for the terrain pipeline, a redis-server from PATH (or an embedded one that forgets everything\n" +
			"when it ends) and keeps artifacts in the data directory. It prints one line, ready http://..., when it is. No API key is asked for.",
		Args: cobra.NoArgs,
	}
	load := settings(cmd)
	faultDir := faultDirFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("auth") {
			c.HTTP.Auth = "off"
		}
		if !cmd.Flags().Changed("log-format") {
			c.Log.Format = "text"
		}
		if !cmd.Flags().Changed("log-level") {
			c.Log.Level = "warn"
		}
		if !cmd.Flags().Changed("shutdown-grace") {
			c.HTTP.ShutdownGrace = 0
		}
		return dev(cmd.Context(), c, stderrLogger(c.Log), *faultDir, func(url string) { fmt.Fprintln(cmd.OutOrStdout(), "ready", url) })
	}
	return cmd
}

// dev runs the embedded stack until ctx ends, and tells ready its address when it is.
func dev(ctx context.Context, c config.Config, log *slog.Logger, faultDir string, ready func(url string)) error {
	c, err := absolute(c)
	if err != nil {
		return err
	}
	url, stopRedis, err := startDevRedis(ctx, c.DataDir, log)
	if err != nil {
		return err
	}
	defer stopRedis()
	c.Redis.URL = url
	p, err := openParts(ctx, c, log)
	if err != nil {
		return err
	}
	defer p.close()
	p.faultDir = faultDir
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return serve(ctx, p, c.Models.Default, func(url string) {
			group.Go(func() error { return announce(ctx, url, ready) })
		})
	})
	return group.Wait()
}

// startDevRedis prefers a real server, which keeps its data, and says so when there is none.
func startDevRedis(ctx context.Context, dataDir string, log *slog.Logger) (url string, stop func(), err error) {
	dir := filepath.Join(dataDir, "redis")
	redis, err := devstack.StartRedis(ctx, dir, devstack.RedisOptions{AppendFsync: "always"})
	if err == nil {
		return "redis://" + redis.Addr + "/0", redis.Stop, nil
	}
	if !errors.Is(err, devstack.ErrNoTool) {
		return "", nil, err
	}
	log.Warn("no redis-server on PATH: jobs are kept in memory and are forgotten when this process ends")
	mini, err := devstack.StartMiniRedis()
	if err != nil {
		return "", nil, err
	}
	return "redis://" + mini.Addr + "/0", mini.Stop, nil
}

// announce waits until the stack answers that it is ready.
func announce(ctx context.Context, url string, ready func(url string)) error {
	ctx, cancel := context.WithTimeout(ctx, devReadyTimeout)
	defer cancel()
	ticker := time.NewTicker(devReadyEvery)
	defer ticker.Stop()
	for {
		err := check(ctx, url+"/v1/service/ready")
		if err == nil {
			ready(url)
			return nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("not ready after %s: %w", devReadyTimeout, err)
			}
			return nil
		case <-ticker.C:
		}
	}
}

// createFile makes a file and the folders above it.
func createFile(path string) (io.WriteCloser, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.Create(path)
}
