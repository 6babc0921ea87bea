package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"telefuser/internal/bench"
)

// The bars of a soak: how many times as slow as in the first window a later one may be, above a floor below which nobody sees a difference, and how much more memory.
const (
	soakSlowerMax  = 1.5
	soakFloorMS    = 5
	soakRSSMax     = 1.2
	soakDrainMax   = 5 * time.Minute
	soakDrainEvery = 250 * time.Millisecond
)

// soakBody is a video that takes a fraction of a second, so that the queue does not grow.
const soakBody = `{"model":"terrain","prompt":"a green valley","num_frames":5,"size":"64x64"}`

// errSoak means that a long run did not end as well as it began.
var errSoak = errors.New("the soak broke a promise")

// benchSoak is one call of the command.
type benchSoak struct {
	benchFlags
	duration, window, every time.Duration
	rate                    float64
}

// soakWindow is what one part of the run was like.
type soakWindow struct {
	Faults []string                    `json:"faults"`
	Kinds  map[string]bench.KindResult `json:"kinds"`
	Errors map[string]int              `json:"errors"`
	// APIRSSBytes is at the end of the window.
	APIRSSBytes int64 `json:"api_rss_bytes"`
}

// soakReport is the whole run.
type soakReport struct {
	Machine bench.Machine `json:"machine"`
	Windows []soakWindow  `json:"windows"`
	// The videos that were accepted, and what became of them once the queue was empty.
	Created, Completed, Failed, Open int64
}

func newBenchSoakCommand() *cobra.Command {
	b := &benchSoak{}
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Load a server for long while its parts fail, and compare the end with the beginning",
		Long: "soak sends 48 reads, a list and a create in turn, each at its time, to an API with a worker, while every now and then the worker is killed or\n" +
			"frozen, its engine killed, or Redis or the API frozen for a moment. It fails when a later window's p99 is more than " + fmt.Sprint(soakSlowerMax) +
			" times that of the\nfirst, when a request fails, when the API's memory grows by more than a fifth, or when a video did not become complete.",
		Args: cobra.NoArgs,
	}
	b.add(cmd)
	f := cmd.Flags()
	f.DurationVar(&b.duration, "duration", 30*time.Minute, "length of the run")
	f.DurationVar(&b.window, "window", 5*time.Minute, "length of the parts that are compared")
	f.DurationVar(&b.every, "fault-every", time.Minute, "time from one fault to the next")
	f.Float64Var(&b.rate, "rate", 100, "requests a second")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return b.run(cmd.Context(), cmd.OutOrStdout()) }
	return cmd
}

func (b *benchSoak) run(ctx context.Context, w io.Writer) error {
	if b.window <= 0 || b.every <= 0 || b.duration < 2*b.window {
		return usageError{errors.New("--duration must be two windows or more, and all times above 0")}
	}
	stack, err := startBenchStack(ctx, benchStackOptions{benchFlags: b.benchFlags, worker: "terrain"})
	if err != nil {
		return err
	}
	defer stack.stop()
	pool, err := bench.NewPool(stack.target, 64, 0)
	if err != nil {
		return err
	}
	defer pool.Close()
	source, err := b.source(ctx, pool, stack.target)
	if err != nil {
		return err
	}
	report := soakReport{Machine: bench.ReadMachine()}
	faults := soakFaults{stack: stack}
	for range int(b.duration / b.window) { // counted, because a fault may outlast its window
		window, err := b.look(ctx, pool, source, &faults)
		if err != nil {
			return err
		}
		report.Windows = append(report.Windows, window)
	}
	if err := report.drain(ctx, stack); err != nil {
		return err
	}
	return errors.Join(b.report(w, report, report.text()), report.check())
}

// source is the mixed load over some videos that are there before.
func (b *benchSoak) source(ctx context.Context, pool *bench.Pool, target bench.Target) (bench.Source, error) {
	ids, err := pool.Fill(ctx, target, []byte(soakBody), 100)
	if err != nil {
		return bench.Source{}, err
	}
	posts, err := bench.Posts(target, []byte(soakBody))
	if err != nil {
		return bench.Source{}, err
	}
	gets, err := bench.Gets(target, ids)
	if err != nil {
		return bench.Source{}, err
	}
	lists, err := bench.Lists(target, benchListLimit, nil)
	if err != nil {
		return bench.Source{}, err
	}
	return bench.Mix(bench.Share{Source: posts, Weight: 1}, bench.Share{Source: lists, Weight: 1}, bench.Share{Source: gets, Weight: 48})
}

// look runs one window with its faults.
func (b *benchSoak) look(ctx context.Context, pool *bench.Pool, source bench.Source, faults *soakFaults) (soakWindow, error) {
	var w soakWindow
	group, ctx := errgroup.WithContext(ctx)
	striking, calm := context.WithCancel(ctx)
	group.Go(func() error {
		var err error
		w.Faults, err = faults.strike(striking, b.every)
		return err
	})
	group.Go(func() error {
		defer calm()
		result, err := pool.Run(ctx, bench.Plan{Rate: b.rate, Duration: b.window}, source)
		w.Kinds, w.Errors = result.Kinds, result.Errors
		return err
	})
	err := group.Wait()
	if usage, err := bench.ReadUsage(faults.stack.api.cmd.Process.Pid); err == nil {
		w.APIRSSBytes = usage.RSSBytes
	}
	return w, err
}

// drain waits until every video has ended, and counts them.
func (r *soakReport) drain(ctx context.Context, stack *benchStack) error {
	p, err := stack.parts(ctx)
	if err != nil {
		return err
	}
	defer p.close(ctx)
	for begun := time.Now(); ; {
		totals, err := p.records.Totals(ctx)
		if err != nil {
			return err
		}
		r.Created, r.Completed, r.Failed = totals.Created, totals.Completed, totals.Failed+totals.Cancelled
		if r.Open = r.Created - r.Completed - r.Failed; r.Open == 0 || time.Since(begun) > soakDrainMax {
			return nil
		}
		if err := pause(ctx, soakDrainEvery); err != nil {
			return err
		}
	}
}

// check names the promises that were broken.
func (r soakReport) check() error {
	var broken []error
	first := r.Windows[0]
	for i, w := range r.Windows {
		for kind, now := range w.Kinds {
			if now.Failed+now.Dropped > 0 {
				broken = append(broken, fmt.Errorf("%w: window %d: %d of %d %s failed: %v", errSoak, i+1, now.Failed+now.Dropped, now.Requests, kind, w.Errors))
			}
			before := first.Kinds[kind].ResponseMS.P99
			if p99 := now.ResponseMS.P99; before != nil && p99 != nil && *p99 > max(soakFloorMS, soakSlowerMax**before) {
				broken = append(broken, fmt.Errorf("%w: window %d: p99 of %s is %.1f ms, in the first it was %.1f", errSoak, i+1, kind, *p99, *before))
			}
		}
	}
	if last := r.Windows[len(r.Windows)-1]; float64(last.APIRSSBytes) > soakRSSMax*float64(first.APIRSSBytes) {
		broken = append(broken, fmt.Errorf("%w: the API's memory grew from %d to %d MiB", errSoak, first.APIRSSBytes>>20, last.APIRSSBytes>>20))
	}
	if r.Completed != r.Created {
		broken = append(broken, fmt.Errorf("%w: of %d videos %d are complete, %d failed, %d open", errSoak, r.Created, r.Completed, r.Failed, r.Open))
	}
	return errors.Join(broken...)
}

// text is for people.
func (r soakReport) text() string {
	var text strings.Builder
	for i, w := range r.Windows {
		fmt.Fprintf(&text, "window %d: API %d MiB, errors %v, faults: %s\n", i+1, w.APIRSSBytes>>20, w.Errors, strings.Join(w.Faults, ", "))
		for _, kind := range []string{bench.KindPost, bench.KindGet, bench.KindList} {
			fmt.Fprintf(&text, "  %-4s %6d  %s\n", kind, w.Kinds[kind].Requests, quantileCells(w.Kinds[kind].ResponseMS))
		}
	}
	fmt.Fprintf(&text, "%d videos: %d complete, %d failed, %d open\n", r.Created, r.Completed, r.Failed, r.Open)
	return text.String()
}
