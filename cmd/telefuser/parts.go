package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"telefuser/internal/config"
	"telefuser/internal/tracing"
	"telefuser/jobs"
	"telefuser/storage"
)

// parts are the things that every role stands on.
type parts struct {
	cfg     config.Config
	log     *slog.Logger
	redis   jobs.Client
	records *jobs.Store
	objects storage.Store
	// faultDir, for fault tests, is where engines look for failures of their device to come.
	faultDir string
	// live is nil in a process without live sessions.
	live *live
	// tracer is nil where nobody traces.
	tracer *tracing.Tracer
}

// withParts gives a command its settings and what they open.
func withParts(cmd *cobra.Command, run func(ctx context.Context, p *parts, args []string) error) {
	load := settings(cmd, config.Default())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		p, err := openParts(cmd.Context(), c, stderrLogger(c.Log))
		if err != nil {
			return err
		}
		defer p.close(cmd.Context())
		return run(cmd.Context(), p, args)
	}
}

// openParts connects the records and the object store. A Redis that is down is no error: roles come up not ready and wait for it.
func openParts(ctx context.Context, c config.Config, log *slog.Logger) (*parts, error) {
	if c.Redis.URL == "" {
		return nil, fmt.Errorf("%w: redis.url: want an address", config.ErrInvalid)
	}
	c, err := absolute(c)
	if err != nil {
		return nil, err
	}
	client, err := jobs.Connect(ctx, redisConfig(c.Redis))
	switch {
	case errors.Is(err, jobs.ErrUnavailable) && client != nil:
		log.Warn("redis does not answer yet", "error", err)
	case err != nil:
		return nil, err
	}
	jc, err := jobsConfig(c)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	records, err := jobs.New(jc, client, log)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	objects, err := storage.New(ctx, storageConfig(c))
	if err != nil {
		return nil, errors.Join(err, records.Close(), client.Close())
	}
	tracer, err := newTracer(ctx, c, "telefuser", log)
	if err != nil {
		return nil, errors.Join(err, records.Close(), client.Close())
	}
	return &parts{cfg: c, log: log, redis: client, records: records, objects: objects, tracer: tracer}, nil
}

// newTracer makes the spans of this process, under the name of its service.
func newTracer(ctx context.Context, c config.Config, service string, log *slog.Logger) (*tracing.Tracer, error) {
	t, err := tracing.New(ctx, tracing.Config{Endpoint: c.Traces.Endpoint, Service: service, Version: version, Ratio: float64(c.Traces.Percent) / 100, Log: log})
	if err != nil {
		return nil, fmt.Errorf("%w: traces.endpoint: %w", config.ErrInvalid, err)
	}
	return t, nil
}

func (p *parts) close(ctx context.Context) {
	p.tracer.Close(ctx)
	if err := errors.Join(p.records.Close(), p.redis.Close()); err != nil {
		p.log.Warn("closing redis", "error", err)
	}
}

func redisConfig(c config.Redis) jobs.RedisConfig {
	if c.SentinelMaster == "" {
		return jobs.RedisConfig{URL: c.URL}
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return jobs.RedisConfig{URL: c.URL}
	}
	password, _ := u.User.Password()
	return jobs.RedisConfig{
		Sentinels: strings.Split(u.Host, ","), MasterName: c.SentinelMaster, Username: u.User.Username(), Password: password,
	}
}

func jobsConfig(c config.Config) (jobs.Config, error) {
	keys, err := c.Webhooks.Keys()
	if err != nil {
		return jobs.Config{}, fmt.Errorf("%w: webhooks.secret_keys: %w", config.ErrInvalid, err)
	}
	return jobs.Config{
		SecretKeys: keys,
		Prefix:     c.Redis.Prefix, LeaseTTL: c.Jobs.LeaseTTL, RenewEvery: min(c.Jobs.LeaseTTL/3, defaultRenewEvery), RetentionTTL: c.Jobs.Retention,
		QueuedMax: c.Jobs.QueuedMax, QueueTimeout: c.Jobs.QueueTimeout, CreatesPerMinute: c.HTTP.CreatesPerMinute,
		WebhooksPerTenantMax: c.Webhooks.PerTenantMax, QueueAgeMax: c.Jobs.QueueAgeMax, PriorityStep: c.Jobs.PriorityStep,
		Quota: jobs.Quota{
			Queued: int64(c.Quotas.Queued), Running: int64(c.Quotas.Running), MegapixelSecondsPerHour: int64(c.Quotas.MegapixelSecondsPerHour),
			StoredBytes: int64(c.Quotas.StoredBytes),
		},
	}, nil
}

func storageConfig(c config.Config) storage.Config {
	s := c.Storage.S3
	return storage.Config{
		Driver: c.Storage.Driver,
		File:   storage.FileConfig{Dir: c.ArtifactsDir()},
		S3: storage.S3Config{
			Endpoint: s.Endpoint, PublicEndpoint: s.PublicEndpoint, Region: s.Region, Bucket: s.Bucket, Prefix: s.Prefix,
			AccessKey: s.AccessKey, SecretKey: s.SecretKey, PathStyle: s.PathStyle, Checksums: s.Checksums, SpoolDir: c.TempDir(),
		},
	}
}

// absolute makes the directories independent of the working directory.
func absolute(c config.Config) (config.Config, error) {
	for _, dir := range []*string{&c.DataDir, &c.Storage.Dir, &c.Worker.TempDir} {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return c, fmt.Errorf("directory %s: %w", *dir, err)
		}
		*dir = abs
	}
	return c, nil
}
