package workers_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"telefuser/internal/devstack"
	"telefuser/jobs"
	"telefuser/storage"
	"telefuser/workers"
	"telefuser/workers/engine"
	"telefuser/workers/pipeline"
)

// shared is the redis-server of the whole package; each test has keys of its own in it.
var shared *devstack.Redis

// The test binary is also the engine ("engine WORDS --socket PATH") and a worker that can be killed ("worker SETUP").
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "engine":
			os.Exit(engineMain(os.Args[2:]))
		case "worker":
			os.Exit(workerMain(os.Args[2]))
		}
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "workers-test-")
	if err == nil {
		shared, err = devstack.StartRedis(context.Background(), dir, devstack.RedisOptions{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "these tests need redis-server:", err)
		os.Exit(1)
	}
	code := m.Run()
	shared.Stop()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func engineMain(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	p, err := engineOf(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return engine.ExitCode(engine.Serve(ctx, p, engine.ServeConfig{
		Socket: args[slices.Index(args, "--socket")+1], Parent: os.Stdin,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}))
}

// engineOf makes the pipeline of some words: terrain, small-film or small-film=DIR with its weights, else a scripted one.
func engineOf(words string) (pipeline.Pipeline, error) {
	name, dir, _ := strings.Cut(words, "=")
	switch {
	case words == "terrain":
		return pipeline.NewTerrain(), nil
	case name == "small-film":
		return pipeline.NewSmallFilm(pipeline.Options{Weights: dir})
	}
	return pipeline.NewScripted(words), nil
}

// setup is everything that a worker of these tests depends on; it also travels to worker processes.
type setup struct {
	Redis    string
	Jobs     jobs.Config
	Pipeline string
	Words    string
	Owner    string
	Objects  string
	Temp     string
	Runtime  string
	Engines  int
	Grace    time.Duration
	Idle     time.Duration
	JobsMax  int
	RunTime  time.Duration
	Upload   time.Duration
	Stall    time.Duration
	DieAt    workers.Point
}

// config makes a worker's configuration.
func (s setup) config(log *slog.Logger) (workers.Config, error) {
	exe, err := os.Executable()
	if err != nil {
		return workers.Config{}, err
	}
	cfg := workers.Config{
		Pipeline: s.Pipeline, Owner: s.Owner, TempDir: s.Temp, Grace: s.Grace, IdleExit: s.Idle, JobsMax: s.JobsMax,
		RunTimeout: s.RunTime, UploadBudget: s.Upload, DieAt: s.DieAt, Metrics: prometheus.NewRegistry(), Log: log,
	}
	for range s.Engines {
		cfg.Engines = append(cfg.Engines, engine.Config{
			Command: []string{exe, "engine", s.Words}, Pipeline: s.Pipeline, RuntimeDir: s.Runtime, Log: log,
			StallTimeout: s.Stall, CloseGrace: 700 * time.Millisecond, KillGrace: 500 * time.Millisecond, BackoffMin: 10 * time.Millisecond,
		})
	}
	return cfg, nil
}

// records connects to the records.
func (s setup) records(log *slog.Logger) (*jobs.Store, jobs.Client, error) {
	client, err := jobs.Connect(context.Background(), jobs.RedisConfig{Addr: s.Redis})
	if err != nil {
		return nil, nil, err
	}
	store, err := jobs.New(s.Jobs, client, log)
	return store, client, err
}

// workerMain is a worker process, with the caretakers that every process has.
func workerMain(raw string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := runWorker(raw, log); err != nil {
		log.Error("worker process", "error", err)
		return 1
	}
	return 0
}

func runWorker(raw string, log *slog.Logger) error {
	var s setup
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		return err
	}
	records, _, err := s.records(log)
	if err != nil {
		return err
	}
	objects, err := storage.NewFile(storage.FileConfig{Dir: s.Objects})
	if err != nil {
		return err
	}
	cfg, err := s.config(log)
	if err != nil {
		return err
	}
	w, err := workers.New(cfg, records, objects)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.Run(ctx) })
	group.Go(func() error { return records.RunReaper(ctx) })
	return group.Wait()
}
