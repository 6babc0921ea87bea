package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"telefuser/internal/bench"
)

// benchKindMixed is the fourth kind of load: as an application makes it, which mostly asks whether its videos are done.
const benchKindMixed = "mixed"

// The shares of a mixed load, of twenty requests.
const (
	mixedPosts = 1
	mixedGets  = 18
	mixedLists = 1
)

// benchListLimit is the length of a list page where nothing else is said.
const benchListLimit = 20

// benchRates are the rates at which the kinds are measured, in requests a second; the order is that of the measurements.
func benchRates() ([]string, map[string]float64) {
	return []string{bench.KindPost, bench.KindGet, bench.KindList, benchKindMixed},
		map[string]float64{bench.KindPost: 1000, bench.KindGet: 5000, bench.KindList: 200, benchKindMixed: 2000}
}

// benchAPI is one call of the command.
type benchAPI struct {
	benchFlags
	target      bench.Target
	auth        bool
	kinds       []string
	rate        float64
	duration    time.Duration
	warmup      time.Duration
	connections int
	records     int
	runs        int
	readers     int
}

func newBenchAPICommand() *cobra.Command {
	b := &benchAPI{}
	kinds, rates := benchRates()
	var told []string
	for _, k := range kinds {
		told = append(told, fmt.Sprintf("%s %g", k, rates[k]))
	}
	cmd := &cobra.Command{
		Use:   "api",
		Short: "Measure requests at a fixed rate",
		Long:  "api creates, reads and lists videos at a fixed rate, on a stack of its own unless --url names a server. It makes jobs there.",
		Args:  cobra.NoArgs,
	}
	b.add(cmd)
	f := cmd.Flags()
	f.StringVar(&b.target.URL, "url", "", "http://host:port of the server; empty starts one")
	f.StringVar(&b.target.Key, "api-key", "", "API key for the server at --url")
	f.BoolVar(&b.auth, "auth", false, "let the started server ask for a key")
	f.StringSliceVar(&b.kinds, "kind", kinds, "what to measure, one after the other")
	f.Float64Var(&b.rate, "rate", 0, "requests a second; 0 means "+strings.Join(told, ", "))
	f.DurationVar(&b.duration, "duration", 30*time.Second, "length of one measurement")
	f.DurationVar(&b.warmup, "warmup", 5*time.Second, "load before each measurement that is not counted")
	f.IntVar(&b.connections, "connections", 64, "connections to the server")
	f.IntVar(&b.records, "records", 1000, "videos that are created before the measurements")
	f.IntVar(&b.runs, "runs", 1, "how often to measure each kind")
	f.IntVar(&b.readers, "readers", 0, "measure each kind again while so many slow readers download a video, on a started server")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return b.run(cmd.Context(), cmd.OutOrStdout()) }
	return cmd
}

func (b *benchAPI) run(ctx context.Context, w io.Writer) error {
	known, rates := benchRates()
	for _, kind := range b.kinds {
		if !slices.Contains(known, kind) {
			return usageError{fmt.Errorf("unknown kind %q: known are %s", kind, strings.Join(known, ", "))}
		}
	}
	if b.readers > 0 && b.target.URL != "" {
		return usageError{fmt.Errorf("--readers %d: only with a started server, not with --url", b.readers)}
	}
	var (
		processes []bench.Process
		video     string
	)
	if b.target.URL == "" {
		stack, err := startBenchStack(ctx, benchStackOptions{benchFlags: b.benchFlags, auth: b.auth})
		if err != nil {
			return err
		}
		defer stack.stop()
		b.target, processes = stack.target, stack.processes()
		if b.readers > 0 {
			if video, err = stack.plantVideo(ctx, readersContentBytes); err != nil {
				return err
			}
		}
	}
	pool, err := bench.NewPool(b.target, b.connections, 0)
	if err != nil {
		return err
	}
	defer pool.Close()
	ids, err := pool.Fill(ctx, b.target, []byte(benchBody), b.records)
	if err != nil {
		return err
	}
	var runs []bench.Run
	for _, kind := range b.kinds {
		source, err := b.source(kind, ids)
		if err != nil {
			return err
		}
		plan := bench.Plan{Rate: b.rate, Duration: b.duration}
		if b.rate == 0 {
			plan.Rate = rates[kind]
		}
		measure := func(ctx context.Context, name string) error {
			run, err := pool.Measure(ctx, name, plan, b.warmup, source, processes)
			runs = append(runs, run)
			return err
		}
		for range b.runs {
			if err := measure(ctx, kind); err != nil {
				return err
			}
			if b.readers > 0 {
				if err := b.besideReaders(ctx, video, func(ctx context.Context) error { return measure(ctx, kind+" beside readers") }); err != nil {
					return err
				}
			}
		}
	}
	return b.report(w, runs, bench.Table(runs))
}

func (b *benchAPI) source(kind string, ids []string) (bench.Source, error) {
	switch kind {
	case bench.KindPost:
		return bench.Posts(b.target, []byte(benchBody))
	case bench.KindGet:
		return bench.Gets(b.target, ids)
	case bench.KindList:
		return bench.Lists(b.target, benchListLimit, ids)
	}
	var shares []bench.Share
	for _, part := range []struct {
		kind   string
		weight int
	}{{bench.KindPost, mixedPosts}, {bench.KindGet, mixedGets}, {bench.KindList, mixedLists}} {
		source, err := b.source(part.kind, ids)
		if err != nil {
			return bench.Source{}, err
		}
		shares = append(shares, bench.Share{Source: source, Weight: part.weight})
	}
	return bench.Mix(shares...)
}
