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
		Short: "Run everything on this machine; it needs ffmpeg and nothing else",
		Long: "dev runs the API, a worker for the terrain pipeline, a redis-server from PATH (or an embedded one that forgets everything\n" +
			"when it ends) and keeps artifacts in the data directory. It prints one line, ready http://..., when it is. No API key is asked for.\n" +
			"With a livekit-server in the tools folder or on PATH it also runs live sessions, and prints live ws://... when it does.",
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
		if !cmd.Flags().Changed("grace") {
			c.Worker.Grace = min(c.Worker.Grace, devGrace)
		}
		if !cmd.Flags().Changed("queue-size") {
			c.Stream.QueueSize = max(c.Stream.QueueSize, devQueueSize)
		}
		say := func(what string) func(string) {
			return func(url string) { fmt.Fprintln(cmd.OutOrStdout(), what, url) }
		}
		return dev(cmd.Context(), c, stderrLogger(c.Log), *faultDir, say("ready"), say("live"))
	}
	return cmd
}

// dev runs the embedded stack until ctx ends. It tells ready its address when it is, and live the media server's when the first worker of live sessions is
// ready; without live there are none.
func dev(ctx context.Context, c config.Config, log *slog.Logger, faultDir string, ready, live func(url string)) error {
	c, err := absolute(c)
	if err != nil {
		return err
	}
	unlock, err := lockDataDir(c.DataDir)
	if err != nil {
		return err
	}
	defer unlock()
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
	stopLive, err := startDevLive(ctx, p, live != nil)
	if err != nil {
		return err
	}
	defer stopLive()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return serve(ctx, p, c.Models.Default, func(url string) {
			group.Go(func() error {
				if err := announce(ctx, url, devReadyTimeout, ready); err != nil || p.live == nil {
					return err
				}
				return p.live.start(ctx, live)
			})
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
func announce(ctx context.Context, url string, timeout time.Duration, ready func(url string)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
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
				return fmt.Errorf("not ready after %s: %w", timeout, err)
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
