package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"telefuser/api"
	"telefuser/internal/bench"
	"telefuser/jobs"
	"telefuser/openapi"
)

const (
	// dispatchBody is the smallest video that terrain makes: what is measured ends before the first frame.
	dispatchBody = `{"model":"terrain","prompt":"a hill","num_frames":1,"size":"64x64","seed":1}`
	// dispatchPollEvery is the pause between two looks at the record. They cost the machine little and do not touch the figure, which the record holds.
	dispatchPollEvery = 5 * time.Millisecond
	// dispatchIdleMax bounds the random pause before each job, so that jobs fall on every phase of the worker's own looks at its queue.
	dispatchIdleMax = 50 * time.Millisecond
	dispatchTimeout = time.Minute
)

// dispatchResult is the time from acceptance to start, by the clock of Redis in whole milliseconds.
type dispatchResult struct {
	Machine bench.Machine   `json:"machine"`
	Jobs    int             `json:"jobs"`
	StartMS bench.Quantiles `json:"accepted_to_started_ms"`
	// EndMS is the time from acceptance to completion of these small jobs.
	EndMS bench.Quantiles `json:"accepted_to_completed_ms"`
}

func newBenchDispatchCommand() *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "dispatch",
		Short: "Measure how long an accepted job waits for an idle worker",
		Long:  "dispatch creates tiny videos one after the other, each when the worker is idle, and reads from the records when they were accepted and started.",
		Args:  cobra.NoArgs,
	}
	flags.add(cmd)
	n := cmd.Flags().Int("jobs", 1000, "jobs to run; the first tenth is not counted")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return benchDispatch(cmd.Context(), flags, *n, cmd.OutOrStdout())
	}
	return cmd
}

func benchDispatch(ctx context.Context, flags benchFlags, n int, w io.Writer) error {
	report := dispatchResult{Machine: bench.ReadMachine()}
	stack, err := startBenchStack(ctx, benchStackOptions{benchFlags: flags, worker: "terrain"})
	if err != nil {
		return err
	}
	defer stack.stop()
	p, err := stack.parts(ctx)
	if err != nil {
		return err
	}
	defer p.close(ctx)
	var starts, ends []time.Duration
	for i := range n {
		if err := pause(ctx, rand.N(dispatchIdleMax)); err != nil {
			return err
		}
		job, err := runOne(ctx, stack.target, p.records, dispatchBody, dispatchTimeout)
		if err != nil {
			return err
		}
		if i >= n/10 {
			starts, ends = append(starts, job.StartedAt.Sub(job.CreatedAt)), append(ends, job.CompletedAt.Sub(job.CreatedAt))
		}
	}
	report.Jobs = len(starts)
	report.StartMS, report.EndMS = bench.NewQuantiles(starts, 0), bench.NewQuantiles(ends, 0)
	return flags.report(w, report, fmt.Sprintf("%d jobs\naccepted to started:   %s\naccepted to completed: %s\n", report.Jobs, report.StartMS, report.EndMS))
}

// runOne creates a video and waits until it is done.
func runOne(ctx context.Context, t bench.Target, records *jobs.Store, body string, timeout time.Duration) (jobs.Job, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var video openapi.Video
	if err := callJSON(ctx, t, http.MethodPost, "/v1/videos", strings.NewReader(body), &video); err != nil {
		return jobs.Job{}, err
	}
	for {
		job, err := records.Get(ctx, api.LocalTenant, video.ID)
		switch {
		case err != nil:
			return jobs.Job{}, err
		case job.State == jobs.StateFailed:
			return jobs.Job{}, fmt.Errorf("job %s failed: %s", job.ID, job.Failure.Code)
		case job.State == jobs.StateCompleted:
			return job, nil
		}
		if err := pause(ctx, dispatchPollEvery); err != nil {
			return jobs.Job{}, err
		}
	}
}

// callJSON makes one call with a JSON body and decodes the JSON answer.
func callJSON(ctx context.Context, t bench.Target, method, path string, body io.Reader, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, t.URL+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if t.Key != "" {
		req.Header.Set("Authorization", "Bearer "+t.Key)
	}
	client := &http.Client{Timeout: dispatchTimeout}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, demoBodyBytes))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	return json.Unmarshal(text, into)
}
