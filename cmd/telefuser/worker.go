package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"telefuser/internal/config"
	"telefuser/workers"
	"telefuser/workers/engine"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

// defaultRenewEvery is the pause between two signs of life of a claim.
const defaultRenewEvery = 3 * time.Second

func newWorkerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker PIPELINE",
		Short: "Run the jobs of one pipeline",
		Long: "worker takes the jobs of one pipeline from Redis, runs them on engine processes, and stores the results.\n" +
			"Any number of workers on any number of machines share a queue. SIGTERM drains.",
		Args: cobra.MatchAll(cobra.ExactArgs(1), knownPipelines),
	}
	dieAt := cmd.Flags().String("die-at", "", "kill this process at a named point, once; for fault tests")
	_ = cmd.Flags().MarkHidden("die-at")
	faultDir := faultDirFlag(cmd)
	withParts(cmd, func(ctx context.Context, p *parts, args []string) error {
		p.faultDir = *faultDir
		registry := newRegistry(ctx, p)
		w, err := newWorker(p, args[0], registry, workers.Point(*dieAt))
		if err != nil {
			return err
		}
		ready := newReadiness(p, func(context.Context) error { return w.Ready() })
		return withDebug(ctx, p.cfg.HTTP.DebugAddr, registry, ready, func(ctx context.Context) error { return runWorker(ctx, p, w, registry) })
	})
	return cmd
}

// faultDirFlag adds the hidden flag for failures of a device on purpose.
func faultDirFlag(cmd *cobra.Command) *string {
	dir := cmd.Flags().String("fault-dir", "", "directory whose files make a device fail; for fault tests")
	_ = cmd.Flags().MarkHidden("fault-dir")
	return dir
}

// runWorker runs a worker with what must run beside it, and ends when the worker does.
func runWorker(ctx context.Context, p *parts, w *workers.Worker, metrics prometheus.Registerer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, side := errgroup.WithContext(context.WithoutCancel(ctx))
	side, stopSide := context.WithCancel(side)
	group.Go(func() error { defer stopSide(); return w.Run(ctx) })
	group.Go(func() error { defer stop(); return runCaretakers(side, p, metrics) })
	return group.Wait()
}

// runCaretakers mends records, removes leftovers and sends the events of webhooks. Every process does: they agree through Redis.
func runCaretakers(ctx context.Context, p *parts, metrics prometheus.Registerer) error {
	janitor, err := workers.NewJanitor(workers.JanitorConfig{Log: p.log}, p.records, p.objects)
	if err != nil {
		return err
	}
	sender, err := newSender(p, metrics)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.records.RunReaper(ctx) })
	group.Go(func() error { return sender.Run(ctx) })
	group.Go(func() error { return janitor.Run(ctx) })
	group.Go(func() error { warnPolicy(ctx, p.records, p.log); return nil })
	return group.Wait()
}

func newWorker(p *parts, name string, metrics prometheus.Registerer, dieAt workers.Point) (*workers.Worker, error) {
	if err := knownPipeline(name); err != nil {
		return nil, err
	}
	engines, err := engineConfigs(p, name)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	c := p.cfg.Worker
	return workers.New(workers.Config{
		Pipeline: name, Owner: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), strings.ToLower(rand.Text()[:6])),
		Engines: engines, TempDir: p.cfg.TempDir(), Grace: c.Grace, IdleExit: c.IdleExit, JobsMax: c.MaxJobs, RunTimeout: c.RunTimeout,
		FFmpeg: media.FFmpeg{Path: c.FFmpeg}, DieAt: dieAt, Tracer: p.tracer, Metrics: metrics, Log: p.log,
	}, p.records, p.objects)
}

// knownPipeline says which pipelines there are when name is none of them.
func knownPipeline(name string) error {
	if _, err := pipeline.New(name); err != nil {
		return usageError{fmt.Errorf("%w: known are %s", err, strings.Join(pipeline.Names(), ", "))}
	}
	return nil
}

// knownPipelines is knownPipeline for the arguments of a command.
func knownPipelines(_ *cobra.Command, names []string) error {
	for _, name := range names {
		if err := knownPipeline(name); err != nil {
			return err
		}
	}
	return nil
}

// engineConfigs is one engine for each replica, started from this very program.
func engineConfigs(p *parts, name string) ([]engine.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own program: %w", err)
	}
	groups, err := deviceGroups(p.cfg.Worker)
	if err != nil {
		return nil, err
	}
	keeper := &footprintKeeper{path: footprintsPath(p.cfg), log: p.log}
	var engines []engine.Config
	for i := range p.cfg.Worker.NumReplicas {
		var group []string
		if len(groups) > 0 {
			group = groups[i]
		}
		e := engineConfig(self, name, group, p.cfg)
		e.RuntimeDir, e.Log, e.OnPhase = filepath.Join(p.cfg.TempDir(), "engines"), p.log, keeper.learn
		if p.faultDir != "" {
			e.Command = append(e.Command, "--fault-dir", p.faultDir)
		}
		engines = append(engines, e)
	}
	return engines, nil
}

// engineConfig is an engine on a group of devices; none means the processor.
func engineConfig(self, name string, group []string, c config.Config) engine.Config {
	e := engine.Config{
		Command: []string{self, "engine", name, "--log-level", c.Log.Level}, Env: engineEnv(config.Environ()), Pipeline: name,
		LoadTimeout: c.Worker.LoadTimeout, StallTimeout: c.Worker.StallTimeout, Devices: group, ShareDevices: c.Worker.ShareGPUs,
	}
	if c.Traces.Endpoint != "" {
		e.Command = append(e.Command, "--traces-endpoint", c.Traces.Endpoint)
	}
	if c.Models.Dir != "" {
		e.Command = append(e.Command, "--models-dir", c.Models.Dir)
	}
	if c.Models.Weights != "" {
		e.Command = append(e.Command, "--weights", c.Models.Weights)
	}
	if len(group) > 0 {
		e.Command = append(e.Command, "--device", strings.Join(group, ","))
		if c.Worker.ShareGPUs {
			e.Command = append(e.Command, "--share-device")
		}
	}
	return e
}

// engineEnv keeps what finds libraries and devices, and nothing of ours: no secret reaches a pipeline.
func engineEnv(environ []string) []string {
	var env []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "GOMAXPROCS", "TMPDIR":
			env = append(env, kv)
		}
	}
	return env
}
