// Command kernelbench measures a world model's layer on one GPU and split over several, with
// the exchanges by the copy engines. `telefuser bench kernels` measures everything on one GPU.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
)

func main() {
	gpus := flag.Int("gpus", 2, "how many GPUs; the model's 40 heads divide by it")
	sustain := flag.Duration("sustain", 3*time.Second, "how long each load runs, to reach the power cap")
	cublaslt := flag.String("cublaslt", "", "path of libcublasLt.so.13; empty: not used")
	flag.Parse()
	if err := run(*gpus, *sustain, *cublaslt); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(n int, sustain time.Duration, cublaslt string) error {
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
	co := kernels.CUDAOptions{}
	if cublaslt != "" {
		co.CuBLASLt = []string{cublaslt}
	}
	o := kernels.BenchOptions{Sustain: sustain, Report: func(r kernels.BenchRow) { fmt.Println(r) }}
	return g.Do(ctx, func(xs []*gpu.Context) error {
		var cs []*kernels.CUDA
		for _, x := range xs {
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
