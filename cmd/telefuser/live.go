package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/api"
	"telefuser/internal/config"
	"telefuser/streaming"
	"telefuser/streaming/livekit"
	"telefuser/workers/contract"
	"telefuser/workers/engine"
	"telefuser/workers/gpu"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

// live is what a process has of live sessions: their records, the media server, and the workers where it runs some.
type live struct {
	sessions *streaming.Store
	rooms    streaming.Rooms
	shown    api.StreamConfig
	log      *slog.Logger

	pool        *streaming.Pool
	supervisors []*engine.Supervisor
	// begin, where it is set, is closed when the workers may start.
	begin chan struct{}
}

// openRooms connects the media server of the settings. It reaches out to nothing.
func openRooms(c config.LiveKit, log *slog.Logger) (streaming.Rooms, error) {
	var missing []string
	for flag, value := range map[string]string{"--livekit-url": c.URL, "--livekit-api-key": c.APIKey, "--livekit-api-secret": c.APISecret} {
		if value == "" {
			missing = append(missing, flag)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		return nil, fmt.Errorf("%w: Missing LiveKit configuration: %s", config.ErrInvalid, strings.Join(missing, ", "))
	}
	rooms, err := livekit.New(livekit.Config{URL: c.URL, PublicURL: c.PublicURL, APIKey: c.APIKey, APISecret: c.APISecret, TokenTTL: c.TokenTTL, Log: log})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return rooms, nil
}

// openSessions makes the store of live sessions.
func openSessions(p *parts) (*streaming.Store, error) {
	c := p.cfg.Stream
	queue := c.QueueSize
	if queue == 0 {
		queue = -1 // the store's word for no queue
	}
	return streaming.New(streaming.Config{
		Prefix: p.cfg.Redis.Prefix, QueueMax: queue, SessionTimeout: c.SessionTimeout, ControllerTimeout: c.ControllerTimeout,
		RoomEmptyTimeout: c.RoomEmptyTimeout, SessionsPerTenantMax: c.SessionsPerTenantMax,
	}, p.redis, p.log)
}

// openLive makes the live half of a process without workers.
func openLive(p *parts, rooms streaming.Rooms) (*live, error) {
	sessions, err := openSessions(p)
	if err != nil {
		return nil, err
	}
	c := p.cfg.Stream
	most, _ := strconv.Atoi(c.MaxSessionsPerWorker) // auto is 0
	return &live{sessions: sessions, rooms: rooms, log: p.log, shown: api.StreamConfig{
		TokenTTL: p.cfg.LiveKit.TokenTTL, SessionTimeout: c.SessionTimeout, ControlIdleTimeout: orNone(c.ControlIdleTimeout),
		NumWorkers: c.NumWorkers, SessionsPerWorkerMax: most, QueueSize: c.QueueSize,
	}}, nil
}

// checkMedia says what this machine needs to encode live pictures, and warns where sound cannot be encoded, without which sessions go on.
func checkMedia(ctx context.Context, log *slog.Logger) error {
	if err := media.CheckVP8(ctx); err != nil {
		return fmt.Errorf("no live sessions: %w", err)
	}
	if err := media.CheckOpus(ctx); err != nil {
		log.Warn("live sessions have no sound", "error", err)
	}
	return nil
}

// addWorkers prepares the workers of a pipeline, one engine each. It fails with media.ErrEncoder (wrapped) where pictures cannot be encoded.
func (l *live) addWorkers(ctx context.Context, p *parts, name string) error {
	if err := checkMedia(ctx, p.log); err != nil {
		return err
	}
	if err := relaxTimers(liveTimerSlack); err != nil {
		p.log.Debug("timers stay exact, which costs processor time: CAP_SYS_NICE is missing", "error", err)
	}
	accepts, err := contractOf(name)
	if err != nil {
		return err
	}
	if accepts.BatchOnly {
		return usageError{fmt.Errorf("%s makes whole videos, and no live sessions; `telefuser serve %s` runs it", name, name)}
	}
	of := *p
	of.cfg.Worker.NumReplicas = p.cfg.Stream.NumWorkers
	if of.cfg.Worker.GPUMap, err = liveGPUMap(ctx, p, accepts); err != nil {
		return err
	}
	if of.cfg.Worker.GPUMap != "" || accepts.Device.CPU && !hasGPU(ctx) {
		of.cfg.Worker.GPUs = "" // the map is the workers' own; on a machine without a GPU the pipeline can do without
	}
	configs, err := engineConfigs(&of, name)
	if err != nil {
		return err
	}
	var engines []streaming.Engine
	var devices [][]string
	for _, c := range configs {
		c.OnDemand = true
		supervisor, err := engine.NewSupervisor(c)
		if err != nil {
			return err
		}
		l.supervisors = append(l.supervisors, supervisor)
		engines = append(engines, liveEngine{supervisor: supervisor, objects: p.objects, accepts: accepts})
		if len(c.Devices) == 0 {
			c.Devices = []string{"cpu"}
		}
		devices = append(devices, c.Devices)
	}
	most := max(1, accepts.SessionsMax)
	if l.shown.SessionsPerWorkerMax > 0 {
		most = min(most, l.shown.SessionsPerWorkerMax)
	} else {
		most = l.sessionsThatFit(ctx, p.cfg, accepts, devices, most)
	}
	l.pool, err = streaming.NewPool(streaming.PoolConfig{Owner: liveOwner(), Pipeline: accepts.Name, SessionsPerWorkerMax: most, Devices: devices,
		Grace: orNone(p.cfg.Worker.Grace), Tracer: p.tracer}, l.sessions, engines, l.rooms, p.log)
	return err
}

// liveOwner names this process in the registry.
func liveOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	host = strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, host)
	return fmt.Sprintf("%s-%d-%s", host[:min(len(host), 40)], os.Getpid(), strings.ToLower(rand.Text()[:6]))
}

// contractOf is the contract of a built-in pipeline.
func contractOf(name string) (contract.Contract, error) {
	if err := knownPipeline(name); err != nil {
		return contract.Contract{}, err
	}
	all := pipeline.Contracts()
	return all[slices.IndexFunc(all, func(c contract.Contract) bool { return c.Answers(name) })], nil
}

// liveGPUMap checks the devices of the workers. A pipeline that can do without runs on the CPU of a machine that has none.
func liveGPUMap(ctx context.Context, p *parts, accepts contract.Contract) (string, error) {
	text := strings.TrimSpace(p.cfg.Stream.WorkerGPUMap)
	if text == "" {
		return "", nil
	}
	bad := func(format string, args ...any) (string, error) {
		return "", fmt.Errorf("%w: stream.worker_gpu_map: "+format, append([]any{config.ErrInvalid}, args...)...)
	}
	groups, seen := strings.Split(text, ";"), map[string]bool{}
	if len(groups) != p.cfg.Stream.NumWorkers {
		return bad("%d groups for %d workers", len(groups), p.cfg.Stream.NumWorkers)
	}
	for _, group := range groups {
		for id := range strings.SplitSeq(group, ",") {
			if id == "" || seen[id] && !p.cfg.Worker.ShareGPUs {
				return bad("device %q is missing or stands twice", id)
			}
			seen[id] = true
		}
	}
	if !accepts.Device.CPU {
		return text, nil
	}
	if !hasGPU(ctx) {
		p.log.Warn("worker-gpu-map is ignored: "+accepts.Name+" runs on the CPU, for this machine has no GPU", "worker_gpu_map", text)
		return "", nil
	}
	return text, nil
}

// hasGPU says whether this process sees a GPU. A driver in trouble counts as one.
func hasGPU(ctx context.Context) bool {
	_, err := gpu.Inventory(ctx)
	return !errors.Is(err, gpu.ErrNoDriver) && !errors.Is(err, gpu.ErrNoDevice)
}

// sessionsThatFit is how many sessions each worker can hold on its devices, at most so many, as far as that was measured.
func (l *live) sessionsThatFit(ctx context.Context, c config.Config, accepts contract.Contract, groups [][]string, most int) int {
	all, err := gpu.Inventory(ctx)
	if err != nil {
		return most // the engines say so
	}
	known, err := engine.LoadFootprints(footprintsPath(c))
	if err != nil {
		l.log.Warn("what engines need is not known", "error", err)
	}
	fit := sessionsThatFit(all, known, accepts, groups, most)
	if fit < most {
		l.log.Info("the devices hold fewer sessions than the pipeline could", "pipeline", accepts.Name, "sessions_per_worker", fit)
	}
	return fit
}

// collectors are the metrics of this process's live half.
func (l *live) collectors() []prometheus.Collector {
	all := []prometheus.Collector{l.sessions.Collector()}
	if l.pool != nil {
		all = append(all, l.pool.Collector())
	}
	return all
}

// errNoEngine ends a process whose engines all have given up.
var errNoEngine = errors.New("no engine is left")

// run mends the records of sessions and runs the workers, until ctx ends; live sessions may go on for the grace. It ends with an error when every engine
// has given up.
func (l *live) run(ctx context.Context) error {
	outlive := context.WithoutCancel(ctx)
	side, stopSide := context.WithCancel(outlive)
	var group sync.WaitGroup
	defer group.Wait()
	defer stopSide()
	group.Go(func() { _ = l.sessions.Run(side, l.rooms) }) // it answers nil
	if l.pool == nil {
		<-ctx.Done()
		return nil
	}
	if l.begin != nil {
		select {
		case <-l.begin:
		case <-ctx.Done():
			return nil
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var left atomic.Int64
	left.Store(int64(len(l.supervisors)))
	for _, s := range l.supervisors {
		group.Go(func() {
			err := s.Run(side)
			if left.Add(-1) == 0 && err != nil {
				stop(fmt.Errorf("%w: %w", errNoEngine, err))
			} else if err != nil {
				l.log.Error("engine given up", "error", err)
			}
		})
	}
	if err := l.pool.Run(ctx); err != nil {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, errNoEngine) {
		return cause
	}
	return nil
}

// workersEvery is the pause between two looks at whether a worker is ready.
const workersEvery = 20 * time.Millisecond

// waitWorker waits until a worker of live sessions serves, and answers whether one does.
func (l *live) waitWorker(ctx context.Context) bool {
	ticker := time.NewTicker(workersEvery)
	defer ticker.Stop()
	for {
		if h, err := l.sessions.Health(ctx, ""); err == nil && h.Ready() {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// checkRooms says once what is wrong with the media server; sessions are refused for as long as it is.
func (l *live) checkRooms(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, roomsCheckTimeout)
	defer cancel()
	if err := l.rooms.Check(ctx); err != nil && ctx.Err() == nil {
		l.log.Warn("the media server", "error", err)
	}
}

// roomsCheckTimeout bounds the look at the media server.
const roomsCheckTimeout = 5 * time.Second
