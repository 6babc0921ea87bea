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

// The parts of the measurement of live sessions, in the order in which they run.
const (
	partStart   = "start"
	partControl = "control"
	partLate    = "late"
	partJitter  = "jitter"
	partSteady  = "steady"
)

func sessionParts() []string {
	return []string{partStart, partControl, partLate, partJitter, partSteady}
}

// benchSessions is one call of the command.
type benchSessions struct {
	benchFlags
	only     []string
	samples  int
	every    time.Duration
	sessions int
	workers  int
	warmup   time.Duration
	duration time.Duration
	size     string
	fps      int
	chunk    int
}

// sessionsReport is what was measured; parts that were left out are nil.
type sessionsReport struct {
	Date    time.Time     `json:"date"`
	Machine bench.Machine `json:"machine"`
	Start   *delayResult  `json:"start,omitempty"`
	Control *delayResult  `json:"control,omitempty"`
	Late    *delayResult  `json:"late,omitempty"`
	Jitter  *steadyResult `json:"jitter,omitempty"`
	Steady  *steadyResult `json:"steady,omitempty"`
}

func newBenchSessionsCommand() *cobra.Command {
	b := &benchSessions{}
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "Measure live sessions with a real media server and viewers",
		Long: "sessions starts redis-server, livekit-server and stream-serve with terrain, and watches sessions through WebRTC as a browser would.\n" +
			"Every start, control and late viewer has its moment before the run begins, and delays count from that moment. Viewers decode the first\n" +
			"keyframe; after it they put frames together and count them, which costs a fraction of a browser's decoding.",
		Args: cobra.NoArgs,
	}
	b.add(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&b.only, "only", sessionParts(), "parts to run")
	f.IntVar(&b.samples, "samples", 200, "starts, controls and late viewers to measure; a p95 needs 200")
	f.DurationVar(&b.every, "every", 700*time.Millisecond, "mean time from one of them to the next")
	f.IntVar(&b.sessions, "sessions", 5, "sessions at the same time in the part steady")
	f.IntVar(&b.workers, "workers", 1, "workers that the sessions are spread over, each with an engine")
	f.DurationVar(&b.warmup, "warmup", 5*time.Second, "how long sessions run before the parts jitter and steady look")
	f.DurationVar(&b.duration, "duration", 65*time.Second, "how long the parts jitter and steady look")
	f.StringVar(&b.size, "size", "832x480", "size of the picture")
	f.IntVar(&b.fps, "fps", 16, "frames a second")
	f.IntVar(&b.chunk, "chunk-size", 0, "latent frames of a chunk; 0 leaves it to the pipeline")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, part := range b.only {
			if !slices.Contains(sessionParts(), part) {
				return usageError{fmt.Errorf("--only %s: the parts are %s", part, strings.Join(sessionParts(), ", "))}
			}
		}
		if b.samples < 1 || b.every <= 0 || b.sessions < 1 || b.duration <= 0 || b.fps < 1 {
			return usageError{fmt.Errorf("--samples, --every, --sessions, --duration and --fps must be above 0")}
		}
		return b.run(cmd.Context(), cmd.OutOrStdout())
	}
	return cmd
}

func (b *benchSessions) wants(part string) bool { return slices.Contains(b.only, part) }

func (b *benchSessions) period() time.Duration { return time.Second / time.Duration(b.fps) }

func (b *benchSessions) run(ctx context.Context, w io.Writer) error {
	report := sessionsReport{Date: time.Now().UTC().Truncate(time.Second), Machine: bench.ReadMachine()}
	s, err := startLiveStack(ctx, b.benchFlags, b.workers)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := b.warm(ctx, s); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	for _, part := range []struct {
		name    string
		measure func() error
	}{
		{partStart, func() (err error) { report.Start, err = b.starts(ctx, s); return err }},
		{partControl, func() (err error) { report.Control, err = b.controls(ctx, s); return err }},
		{partLate, func() (err error) { report.Late, err = b.lateViewers(ctx, s); return err }},
		{partJitter, func() (err error) { report.Jitter, err = b.steady(ctx, s, 1); return err }},
		{partSteady, func() (err error) { report.Steady, err = b.steady(ctx, s, b.sessions); return err }},
	} {
		if !b.wants(part.name) {
			continue
		}
		if err := part.measure(); err != nil {
			return fmt.Errorf("%s: %w\n%s", part.name, err, s.serve.tail())
		}
	}
	return b.report(w, report, report.text())
}

// text is for people.
func (r sessionsReport) text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", r.Date.Format("2006-01-02 15:04 UTC"))
	for _, d := range []struct {
		name   string
		result *delayResult
	}{{"session request to first decoded frame", r.Start}, {"control to the first frame made with it", r.Control}, {"late viewer to first decoded frame", r.Late}} {
		if d.result != nil {
			fmt.Fprintf(&text, "\n%s\n%s", d.name, d.result)
		}
	}
	for _, s := range []struct {
		name   string
		result *steadyResult
	}{{"one session", r.Jitter}, {"sessions at the same time", r.Steady}} {
		if s.result != nil {
			fmt.Fprintf(&text, "\n%s\n%s", s.name, s.result)
		}
	}
	return text.String()
}
