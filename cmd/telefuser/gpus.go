package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"telefuser/internal/config"
	"telefuser/workers/engine"
	"telefuser/workers/gpu"
	"telefuser/workers/pipeline"
)

// probeTimeout bounds the small kernel on one GPU.
const probeTimeout = 20 * time.Second

// gpuReport is what `telefuser gpus` found. Nil and null mean unknown.
type gpuReport struct {
	GPUs []gpuEntry `json:"gpus"`
	// Reason says why there is no GPU.
	Reason string   `json:"reason,omitempty"`
	Fits   []gpuFit `json:"fits"`
}

// gpuEntry is one GPU, and what the small kernel said where it was run.
type gpuEntry struct {
	gpu.DeviceInfo
	Probe *string `json:"probe"`
}

func newGPUsCommand() *cobra.Command {
	var asJSON, probe, measure bool
	var dataDir string
	cmd := &cobra.Command{
		Use:   "gpus",
		Short: "Show the GPUs of this machine, their health and what fits",
		Long: "gpus lists the NVIDIA GPUs that this process sees without taking any of them. With --probe each one runs a small kernel, which\n" +
			"needs a few hundred MB of its memory for a moment. With --measure an engine of each pipeline takes the first GPU that is free\n" +
			"and is measured; workers with the same data directory measure as they work. A fact that the machine does not tell is shown\n" +
			"as unknown.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON in place of a table")
	cmd.Flags().BoolVar(&probe, "probe", false, "run a small kernel on every GPU")
	cmd.Flags().BoolVar(&measure, "measure", false, "measure how much memory the pipelines' engines need")
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "directory that keeps what was measured; empty means the workers' own")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := gpusConfig(dataDir)
		if err != nil {
			return err
		}
		if measure {
			say := func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }
			if err := measureAll(cmd.Context(), c, say); err != nil {
				return err
			}
		}
		known, err := engine.LoadFootprints(footprintsPath(c))
		if err != nil {
			return err
		}
		report, err := readGPUs(cmd.Context(), probe, known)
		if err != nil {
			return err
		}
		if asJSON {
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetIndent("", "  ")
			return e.Encode(report)
		}
		return report.print(cmd.OutOrStdout())
	}
	return cmd
}

// readGPUs looks at this machine. A machine without a GPU is no error.
func readGPUs(ctx context.Context, probe bool, known engine.Footprints) (gpuReport, error) {
	report := gpuReport{GPUs: []gpuEntry{}}
	all, err := gpu.Inventory(ctx)
	switch {
	case errors.Is(err, gpu.ErrNoDriver):
		report.Reason = "no NVIDIA driver on this machine"
	case errors.Is(err, gpu.ErrNoDevice):
		report.Reason = "the NVIDIA driver shows none to this process"
	case err != nil:
		return report, err
	}
	for _, info := range all {
		entry := gpuEntry{DeviceInfo: info}
		if probe {
			said := probeGPU(ctx, info.Ordinal)
			entry.Probe = &said
		}
		report.GPUs = append(report.GPUs, entry)
	}
	for _, c := range pipeline.Contracts() {
		report.Fits = append(report.Fits, fitOf(c, all, known))
	}
	return report, nil
}

// gpusConfig is the settings with another data directory, where one is named.
func gpusConfig(dataDir string) (config.Config, error) {
	given := map[string]string{}
	if dataDir != "" {
		given["data-dir"] = dataDir
	}
	c, err := config.Load(config.Default(), "", config.Environ(), given)
	if err != nil {
		return c, err
	}
	return absolute(c)
}

// probeGPU runs the small kernel and answers "ok" or what went wrong.
func probeGPU(ctx context.Context, ordinal int) string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	driver, err := gpu.Open()
	if err != nil {
		return err.Error()
	}
	device, err := driver.OpenDevice(ctx, ordinal)
	if err != nil {
		return err.Error()
	}
	err = device.Do(ctx, func(c *gpu.Context) error { return c.Probe(ctx) })
	if err = errors.Join(err, device.Close()); err != nil { //nolint:contextcheck // it is closed whatever has become of ctx
		return err.Error()
	}
	return "ok"
}

func (r gpuReport) print(w io.Writer) error {
	if len(r.GPUs) == 0 {
		_, err := fmt.Fprintf(w, "no GPU: %s\n", r.Reason)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GPU\tNAME\tMEMORY\tUSED\tCOMPUTE\tDRIVER\tCUDA\tHEALTH\tPROBE\tSM CLOCK\tPOWER\tTEMPERATURE")
	for _, g := range r.GPUs {
		tel := gpu.Telemetry{}
		if g.Telemetry != nil {
			tel = *g.Telemetry
		}
		health := string(g.Health)
		if g.HealthReason != "" {
			health += " (" + g.HealthReason + ")"
		}
		probe := "not run"
		if g.Probe != nil {
			probe = *g.Probe
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", g.Ordinal, g.Name, gibibytes(&g.MemoryBytes), gibibytes(tel.MemoryUsedBytes),
			g.Capability, orUnknown(g.DriverVersion), g.CUDAVersion, health, probe,
			known("%d MHz", tel.SMClockMHz), known("%.0f W", tel.PowerWatts), known("%d C", tel.TemperatureCelsius))
	}
	fmt.Fprintln(t, "\nGPU\tUUID\tPCI\tMULTIPROCESSORS\tNVLINK\tREACHES")
	for _, g := range r.GPUs {
		links := "unknown"
		if g.Telemetry != nil {
			links = known("%d links", g.Telemetry.LinksActive)
		}
		reaches := "itself"
		if len(g.Peers) > 0 {
			reaches = fmt.Sprint(g.Peers)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%s\t%s\n", g.Ordinal, g.UUID, g.PCIBusID, g.Multiprocessors, links, reaches)
	}
	r.printFits(t)
	return t.Flush()
}

// known formats a fact, or says that it is unknown.
func known[T any](format string, value *T) string {
	if value == nil {
		return "unknown"
	}
	return fmt.Sprintf(format, *value)
}

func gibibytes[T int64 | uint64](bytes *T) string {
	if bytes == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f GiB", float64(*bytes)/(1<<30))
}
