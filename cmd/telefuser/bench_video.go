package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"telefuser/internal/bench"
)

// videoTimeout bounds one video.
const videoTimeout = 10 * time.Minute

// videoResult is what making one video took, as its record tells it.
type videoResult struct {
	// FPS is the number of frames over the time from the start of the attempt to its completion, RunMS, in milliseconds.
	FPS   float64 `json:"frames_per_second"`
	RunMS float64 `json:"run_ms"`
	// InferenceMS, EncodeMS and StoreMS are the parts that the worker measured; nil where it does not know.
	InferenceMS *float64 `json:"inference_ms"`
	EncodeMS    *float64 `json:"encode_ms"`
	StoreMS     *float64 `json:"store_ms"`
}

// videoReport is all of them.
type videoReport struct {
	Machine bench.Machine `json:"machine"`
	Videos  []videoResult `json:"videos"`
}

func newBenchVideoCommand() *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "video",
		Short: "Measure how fast videos are made",
		Long: "video makes videos one after the other, rendered, encoded and stored. Under `taskset -c 0` everything shares one processor: the worker,\n" +
			"its engine, the encoder, the API and Redis.",
		Args: cobra.NoArgs,
	}
	flags.add(cmd)
	runs := cmd.Flags().Int("runs", 5, "videos to make after a first one that is not counted")
	frames := cmd.Flags().Int("frames", 77, "frames of a video, 4n+1")
	size := cmd.Flags().String("size", "832x480", "size of a video in pixels")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body := fmt.Sprintf(`{"model":"terrain","prompt":"a green valley between snowy mountains","size":%q,"num_frames":%d,"seed":7}`, *size, *frames)
		return benchVideo(cmd.Context(), flags, body, *frames, *runs, cmd.OutOrStdout())
	}
	return cmd
}

func benchVideo(ctx context.Context, flags benchFlags, body string, frames, runs int, w io.Writer) error {
	report := videoReport{Machine: bench.ReadMachine()}
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
	for i := range runs + 1 {
		job, err := runOne(ctx, stack.target, p.records, body, videoTimeout)
		if err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		took := job.CompletedAt.Sub(job.StartedAt)
		r := videoResult{FPS: float64(frames) / took.Seconds(), RunMS: float64(took.Milliseconds())}
		if job.Result != nil {
			facts := job.Result.Facts
			r.InferenceMS, r.EncodeMS, r.StoreMS = nanosToMS(facts.InferenceNS), nanosToMS(facts.EncodeNS), nanosToMS(facts.StoreNS)
		}
		report.Videos = append(report.Videos, r)
	}
	text := ""
	for _, r := range report.Videos {
		text += fmt.Sprintf("%.1f frames/s: %.0f ms, inference %s, encode %s, store %s\n", r.FPS, r.RunMS, inMS(r.InferenceMS), inMS(r.EncodeMS), inMS(r.StoreMS))
	}
	return flags.report(w, report, text)
}

func nanosToMS(ns *int64) *float64 {
	if ns == nil {
		return nil
	}
	ms := float64(*ns) / float64(time.Millisecond)
	return &ms
}

func inMS(ms *float64) string {
	if ms == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.0f ms", *ms)
}
