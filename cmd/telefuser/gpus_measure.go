package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"telefuser/internal/config"
	"telefuser/workers/contract"
	"telefuser/workers/engine"
	"telefuser/workers/gpu"
	"telefuser/workers/pipeline"
)

const (
	// measureSessions is how many sessions are open at once at the end, so that what a further one needs is known.
	measureSessions = 2
	// measureHold is how long sessions stay open, for NVML to look at them.
	measureHold = time.Second
	// measureTimeout bounds the measuring of one pipeline after it was loaded.
	measureTimeout = 5 * time.Minute
)

// errNoGPU says that there is nothing to measure on.
var errNoGPU = errors.New("no GPU to measure on")

// measureAll measures an engine of each pipeline on the first GPU and keeps what was found. It tells say what it reads.
func measureAll(ctx context.Context, c config.Config, say func(line string)) error {
	if _, err := gpu.Inventory(ctx); err != nil {
		return fmt.Errorf("%w: %w", errNoGPU, err)
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	for _, accepts := range pipeline.Contracts() {
		if need := accepts.Device; need.CPU && need.GPUs == 0 && need.MemoryBytes == nil {
			say(accepts.Name + " runs on the processor")
			continue
		}
		err := measureOne(ctx, c, accepts, say)
		if unfit := (*engine.Error)(nil); errors.As(err, &unfit) && unfit.Class == engine.ClassInvalid { // it has no weights here
			say(accepts.Name + " cannot run here: " + unfit.Message)
			continue
		}
		if err != nil {
			return fmt.Errorf("measure %s: %w", accepts.Name, err)
		}
	}
	return nil
}

// measureOne runs an engine through its largest sessions.
func measureOne(ctx context.Context, c config.Config, accepts contract.Contract, say func(line string)) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("own program: %w", err)
	}
	var group []string
	for i := range max(accepts.Device.GPUs, 1) {
		group = append(group, strconv.Itoa(i))
	}
	log := stderrLogger(config.Log{Level: "warn", Format: "text"})
	keeper := &footprintKeeper{path: footprintsPath(c), log: log}
	e := engineConfig(self, accepts.Name, group, config.Config{Log: config.Log{Level: "warn"}, Worker: c.Worker, Models: c.Models})
	e.RuntimeDir, e.Log, e.DeviceLostMax = filepath.Join(c.TempDir(), "engines"), log, 1
	e.OnPhase = func(desc engine.Description, phase *engine.PhaseFacts) {
		keeper.learn(desc, phase)
		for i, d := range phase.Devices {
			say(phaseLine(accepts.Name, i, phase.Sessions, d))
		}
	}
	supervisor, err := engine.NewSupervisor(e)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, c.Worker.LoadTimeout+measureTimeout)
	defer stop()
	ended := make(chan error, 1) // one answer
	go func() { ended <- supervisor.Run(ctx) }()
	for n := 1; n <= min(measureSessions, max(accepts.SessionsMax, 1)) && err == nil; n++ {
		err = measureTogether(ctx, supervisor, accepts, n)
	}
	stop()
	return errors.Join(err, <-ended)
}

// measureTogether opens so many of the largest sessions at once and takes a chunk of each.
func measureTogether(ctx context.Context, s *engine.Supervisor, accepts contract.Contract, count int) (err error) {
	g := accepts.Geometry
	width := g.SideMax / g.SideMultiple * g.SideMultiple
	height := min(g.PixelsMax/width, g.SideMax) / g.SideMultiple * g.SideMultiple
	for i := range count {
		session, openErr := s.Open(ctx, pipeline.Request{
			Task: contract.TaskTextToVideo, Prompt: "hills", Width: width, Height: height, FPS: g.FPSDefault, Frames: g.FirstChunkFrames, Seed: int64(i),
		})
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, session.Close()) }() //nolint:contextcheck // a session is closed whatever became of ctx
		if _, err := session.Next(ctx); err != nil {
			return err
		}
	}
	timer := time.NewTimer(measureHold)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// phaseLine is what was read of a device during a phase, in words.
func phaseLine(pipeline string, device, sessions int, d engine.DevicePhase) string {
	return fmt.Sprintf("%s on device %d, sessions %d: %s allocated, %s of the driver's; %s in use by all; %s, %s, %s; %d readings", pipeline, device, sessions,
		gibibytes(d.EnginePeakBytes), gibibytes(d.OverheadBytes), gibibytes(d.MemoryUsedBytes), known("%.0f MHz", d.SMClockMHz), known("%.0f W", d.PowerWatts),
		known("%d C", d.TemperatureCelsius), d.Readings)
}
