// Command kernelbench measures the kernels on the first GPU and prints a table; with -json it
// also writes the rows. docs/benchmarks-gpu.md says how its figures are made.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
)

func main() {
	seconds := flag.Float64("seconds", 0, "how long each sustained load runs; 0: bursts only")
	only := flag.String("only", "", "groups, separated by commas: copy, graph, rows, gemm, attention_bf16, attention_e4m3, conv, layer")
	cublaslt := flag.String("cublaslt", "", "path of libcublasLt.so.13; empty: not used")
	choices := flag.String("choices", "", "file that remembers the fastest implementations")
	out := flag.String("json", "", "file for the rows")
	gpus := flag.Int("gpus", 1, "more than one: measure a layer split over so many GPUs, and nothing else")
	flag.Parse()
	if *gpus > 1 {
		if err := runGroup(*gpus, *seconds, *cublaslt); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := run(*seconds, *only, *cublaslt, *choices, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(seconds float64, only, cublaslt, choices, out string) error {
	ctx := context.Background()
	d, err := gpu.Open()
	if err != nil {
		return err
	}
	all, err := gpu.Inventory(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s, driver %s, CUDA %s, %s\n", all[0].Name, text(all[0].DriverVersion), all[0].CUDAVersion, time.Now().UTC().Format(time.RFC3339))
	dev, err := d.OpenDevice(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = dev.Close() }()
	bo := kernels.BenchOptions{Sustain: time.Duration(seconds * float64(time.Second)), Report: func(r kernels.BenchRow) { fmt.Println(r) }}
	if only != "" {
		bo.Only = strings.Split(only, ",")
	}
	if m, err := gpu.OpenMonitor(); err == nil {
		defer m.Close()
		bo.Read = func() *gpu.Telemetry {
			t, err := m.Read(all[0].UUID)
			if err != nil {
				return nil // unknown
			}
			return t
		}
	}
	co := kernels.CUDAOptions{Choices: kernels.LoadChoices(choices)}
	if cublaslt != "" {
		co.CuBLASLt = []string{cublaslt}
	}
	var rows []kernels.BenchRow
	err = dev.Do(ctx, func(x *gpu.Context) error {
		c, err := kernels.NewCUDA(x, co)
		if err != nil {
			return err
		}
		rows, err = kernels.Bench(ctx, c, bo)
		if err != nil {
			return err
		}
		return c.Close()
	})
	if err != nil {
		return err
	}
	if choices != "" {
		if err := co.Choices.Save(choices); err != nil {
			return err
		}
	}
	if out == "" {
		return nil
	}
	b, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	const readable = 0o644
	return os.WriteFile(out, b, readable)
}

// runGroup measures a layer on one GPU and on several.
func runGroup(n int, seconds float64, cublaslt string) error {
	ctx := context.Background()
	d, err := gpu.Open()
	if err != nil {
		return err
	}
	var ordinals []int
	for i := range n {
		ordinals = append(ordinals, i)
	}
	g, err := d.OpenGroup(ctx, ordinals...)
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }()
	o := kernels.BenchOptions{Sustain: time.Duration(seconds * float64(time.Second)), Report: func(r kernels.BenchRow) { fmt.Println(r) }}
	return g.Do(ctx, func(xs []*gpu.Context) error {
		var cs []*kernels.CUDA
		for _, x := range xs {
			co := kernels.CUDAOptions{}
			if cublaslt != "" {
				co.CuBLASLt = []string{cublaslt}
			}
			c, err := kernels.NewCUDA(x, co)
			if err != nil {
				return err
			}
			cs = append(cs, c)
		}
		_, err := kernels.BenchGroup(ctx, cs, o)
		return err
	})
}

func text(s *string) string {
	if s == nil {
		return "unknown"
	}
	return *s
}
