package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
)

// kernelsResult is one run of the kernel benchmarks.
type kernelsResult struct {
	Device gpu.DeviceInfo     `json:"device"`
	At     time.Time          `json:"at"`
	Rows   []kernels.BenchRow `json:"rows"`
}

func newBenchKernelsCommand() *cobra.Command {
	var f benchFlags
	var only []string
	var cublasLt, cuDNN []string
	var sustain time.Duration
	var device int
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Measure the CUDA kernels on one GPU, with clocks and power",
		Long: "kernels measures the kernels at the shapes of a world model: short bursts, and with --sustain the mean of the second half of a long\n" +
			"run, when the power cap holds. It takes several GiB of the GPU's memory. cuBLASLt and\n" +
			"cuDNN are measured beside them where --cublaslt and --cudnn find them.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON in place of a table")
	cmd.Flags().StringSliceVar(&only, "only", nil, "groups to measure, such as copy,rows,gemm,attention,conv,graph; empty means all")
	cmd.Flags().StringSliceVar(&cublasLt, "cublaslt", nil, "paths where libcublasLt.so.13 may lie")
	cmd.Flags().StringSliceVar(&cuDNN, "cudnn", nil, "paths where libcudnn.so.9 may lie, whose folder must be on LD_LIBRARY_PATH as well")
	cmd.Flags().DurationVar(&sustain, "sustain", 0, "how long each load runs to reach the power cap; 0 means bursts alone")
	cmd.Flags().IntVar(&device, "device", 0, "number of the GPU")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o := kernels.BenchOptions{Sustain: sustain, Only: only}
		if !f.json {
			o.Report = func(r kernels.BenchRow) { fmt.Fprintln(cmd.OutOrStdout(), r) }
		}
		result, err := benchKernels(cmd.Context(), device, kernels.CUDAOptions{CuBLASLt: cublasLt, CuDNN: cuDNN}, o)
		if err != nil {
			return err
		}
		return f.report(cmd.OutOrStdout(), result, fmt.Sprintf("%s, driver %s, CUDA %s, %s\n", result.Device.Name, orUnknown(result.Device.DriverVersion),
			result.Device.CUDAVersion, result.At.Format(time.RFC3339)))
	}
	return cmd
}

// benchKernels measures on one GPU.
func benchKernels(ctx context.Context, ordinal int, co kernels.CUDAOptions, o kernels.BenchOptions) (result kernelsResult, err error) {
	all, err := gpu.Inventory(ctx)
	if err != nil {
		return result, err
	}
	if ordinal < 0 || ordinal >= len(all) {
		return result, fmt.Errorf("there is no GPU %d among %d", ordinal, len(all))
	}
	result.Device, result.At = all[ordinal], time.Now().UTC()
	driver, err := gpu.Open()
	if err != nil {
		return result, err
	}
	device, err := driver.OpenDevice(ctx, ordinal)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, device.Close()) }() //nolint:contextcheck // it is closed whatever has become of ctx
	if monitor, err := gpu.OpenMonitor(); err == nil {
		defer monitor.Close()
		o.Read = func() *gpu.Telemetry {
			t, err := monitor.Read(all[ordinal].UUID)
			if err != nil {
				return nil
			}
			return t
		}
	}
	err = device.Do(ctx, func(x *gpu.Context) error {
		c, err := kernels.NewCUDA(x, co)
		if err != nil {
			return err
		}
		result.Rows, err = kernels.Bench(ctx, c, o)
		return errors.Join(err, c.Close())
	})
	return result, err
}
