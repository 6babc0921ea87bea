package main

import (
	"os"

	"github.com/spf13/cobra"

	"telefuser/internal/config"
	"telefuser/workers/engine"
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
	device := cmd.Flags().String("device", "", "the device in words")
	level := cmd.Flags().String("log-level", "info", "least level that is logged")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := pipeline.New(args[0])
		if err != nil {
			return err
		}
		err = engine.Serve(cmd.Context(), p, engine.ServeConfig{
			Socket: *socket, Parent: os.Stdin, Device: *device, Log: stderrLogger(config.Log{Level: *level, Format: "json"}),
		})
		// The code tells the supervisor how the engine ended; nothing else of this process matters to it.
		os.Exit(engine.ExitCode(err))
		return nil
	}
	return cmd
}
