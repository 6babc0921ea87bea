package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"telefuser/internal/bench"
)

func newBenchBacklogCommand() *cobra.Command {
	flags, plan := benchFlags{}, bench.BacklogPlan{Body: []byte(benchBody)}
	cmd := &cobra.Command{
		Use:   "backlog",
		Short: "Measure what many waiting jobs cost",
		Long: "backlog fills the queue of a stack that has no worker, and measures Redis's memory for a job, and requests with few and with many\n" +
			"records.",
		Args: cobra.NoArgs,
	}
	flags.add(cmd)
	f := cmd.Flags()
	f.IntVar(&plan.Few, "few", 1000, "records at which GET and POST are first measured")
	f.IntVar(&plan.Queued, "queued", 50_000, "records at which POST and list pages are measured")
	f.IntVar(&plan.Stored, "stored", 100_000, "records at which GET is measured again")
	f.Float64Var(&plan.PostRate, "post-rate", 500, "creates a second while they are measured")
	f.Float64Var(&plan.GetRate, "get-rate", 5000, "reads a second")
	f.Float64Var(&plan.ListRate, "list-rate", 100, "list pages a second")
	f.DurationVar(&plan.Duration, "duration", 20*time.Second, "length of one measurement")
	f.DurationVar(&plan.Warmup, "warmup", 3*time.Second, "load before each measurement that is not counted")
	f.IntVar(&plan.Connections, "connections", 64, "connections to the server")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return benchBacklog(cmd.Context(), flags, plan, cmd.OutOrStdout())
	}
	return cmd
}

func benchBacklog(ctx context.Context, flags benchFlags, plan bench.BacklogPlan, w io.Writer) error {
	stack, err := startBenchStack(ctx, benchStackOptions{benchFlags: flags})
	if err != nil {
		return err
	}
	defer stack.stop()
	plan.Target, plan.RedisAddr, plan.Processes = stack.target, stack.redis.Addr, stack.processes()
	result, err := bench.Backlog(ctx, plan)
	if err != nil {
		return err
	}
	return flags.report(w, result, bench.Table(result.Runs)+
		fmt.Sprintf("redis: %.0f bytes for each job, from %d to %d queued\n", result.RedisBytesPerJob, plan.Few, plan.Queued))
}
