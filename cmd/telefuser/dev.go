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
			"when it ends; neither with a --redis-url) and keeps artifacts in the data directory. It prints one line, ready http://...,\n" +
			"when it is. No API key is asked for.\n" +
			"With a livekit-server in the tools folder or on PATH it also runs live sessions, and prints live ws://... when it does.",
		Args: cobra.NoArgs,
	}
	load := settings(cmd, devConfig())
	faultDir := faultDirFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		say := func(what string) func(string) {
			return func(url string) { fmt.Fprintln(cmd.OutOrStdout(), what, url) }
		}
		return dev(cmd.Context(), c, stderrLogger(c.Log), *faultDir, say("ready"), say("live"))
	}
	return cmd
}

// devConfig is what dev starts from: one person at one machine, where a second page of live sessions waits instead of being refused and Ctrl-C waits for nobody.
func devConfig() config.Config {
	c := config.Default()
	c.Log = config.Log{Level: "warn", Format: "text"}
	c.HTTP.Auth, c.HTTP.ShutdownGrace = "off", 0
	c.Redis.URL = ""
	c.Worker.Grace = time.Second
	c.Stream.QueueSize = 16
	return c
}

// dev runs the embedded stack until ctx ends. It tells ready its address when it is, and live the media server's when the first worker of live sessions is
// ready; without live there are none.
func dev(ctx context.Context, c config.Config, log *slog.Logger, faultDir string, ready, live func(url string)) error {
	unlock, err := lockDataDir(c.DataDir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := ensureSecretKeys(&c); err != nil {
		return err
	}
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

// ensureRedis starts a server where the settings name none.
func ensureRedis(ctx context.Context, c *config.Config, log *slog.Logger) (stop func(), err error) {
	if c.Redis.URL != "" {
		return func() {}, nil
	}
	c.Redis.URL, stop, err = startDevRedis(ctx, c.DataDir, log)
	return stop, err
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
