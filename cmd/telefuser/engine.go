package main

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"telefuser/internal/config"
	"telefuser/internal/tracing"
	"telefuser/workers/engine"
	"telefuser/workers/gpu"
	"telefuser/workers/pipeline"
)

// newEngineCommand is what a worker starts for each of its engines; people have no use for it.
func newEngineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "engine PIPELINE",
		Short:  "Host one pipeline for the worker that started this process",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
	}
	socket := cmd.Flags().String("socket", "", "Unix socket to listen on")
	device := cmd.Flags().String("device", "", "numbers or UUIDs of the GPUs to run on, separated by commas; empty means the processor")
	share := cmd.Flags().Bool("share-device", false, "let other engines that are told so as well have the GPUs too")
	models := cmd.Flags().String("models-dir", "", "folder that holds a folder of weights for each pipeline that needs some")
	from := cmd.Flags().String("weights", "", "folder of weights to take instead, or random:SEED")
	traces := cmd.Flags().String("traces-endpoint", "", "address that takes the engine's traces")
	level := cmd.Flags().String("log-level", "info", "least level that is logged")
	faults := cmd.Flags().String("fault-dir", "", "directory whose files make the device fail; for fault tests")
	_ = cmd.Flags().MarkHidden("fault-dir")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		devices, trouble := openEngineDevices(cmd.Context(), *device, gpu.Sharing(*share))
		p, err := pipeline.NewOn(args[0], pipeline.Options{Devices: devices.ordinals, FaultDir: *faults, ModelsDir: *models, Weights: *from})
		if err == nil {
			log := stderrLogger(config.Log{Level: *level, Format: "json"})
			// Whether a trace is kept was decided where it began.
			tracer, _ := tracing.New(cmd.Context(), tracing.Config{Endpoint: *traces, Service: "telefuser-engine", Version: version, Log: log})
			err = serveEngine(cmd.Context(), p, devices, trouble, engine.ServeConfig{Socket: *socket, Parent: os.Stdin, Tracer: tracer, Log: log})
			tracer.Close(cmd.Context())
		}
		runtime.KeepAlive(devices) // its claims hold until here
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		// The code tells the supervisor how the engine ended; nothing else of this process matters to it.
		os.Exit(engine.ExitCode(err))
		return nil
	}
	return cmd
}

// serveEngine hosts a pipeline, with what can be known of its devices.
func serveEngine(ctx context.Context, p pipeline.Pipeline, d engineDevices, trouble error, c engine.ServeConfig) error {
	c.Device, c.Devices, c.WatchDevices = d.words, d.facts, d.watch
	switch {
	case trouble != nil:
		p = troubled{p, trouble}
	case len(d.uuids) > 0:
		readings := newEngineReadings(d, p)
		c.ReadDevices, c.DeviceMemory = readings.read, readings.memory
	}
	return engine.Serve(ctx, p, c)
}

// troubled is a pipeline without the devices that it should have. It says so when it is to load, where the supervisor hears it.
type troubled struct {
	pipeline.Pipeline
	err error
}

// Load fails.
func (t troubled) Load(context.Context, func(share float64)) error { return t.err }
