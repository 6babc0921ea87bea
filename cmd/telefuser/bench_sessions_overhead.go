package main

import (
	"context"
	"fmt"

	"telefuser/internal/bench"
)

// The counters of stream-serve that tell how much of its and its engines' processor time was the work itself.
const (
	counterFrames    = "telefuser_serving_frames_total"
	counterEncodeCPU = "telefuser_serving_frame_encode_cpu_seconds_total"
	counterRenderCPU = "telefuser_serving_stage_cpu_seconds_total"
)

// overheadResult is the processor time of the service for one published frame, in ms: what the kernel counts for its processes, less what the threads' own clocks
// count for the encoder and for rendering.
type overheadResult struct {
	Frames int64 `json:"frames"`
	// EncodeMS and RenderMS are what is left out, ServeMS and EngineMS what is left, TotalMS their sum.
	EncodeMS float64 `json:"encode_cpu_ms"`
	RenderMS float64 `json:"render_cpu_ms"`
	ServeMS  float64 `json:"serve_ms"`
	EngineMS float64 `json:"engine_ms"`
	TotalMS  float64 `json:"total_ms"`
}

// counters are what stream-serve has counted so far.
func (s *liveStack) counters(ctx context.Context) (map[string]float64, error) {
	return bench.ReadCounters(ctx, s.target, counterFrames, counterEncodeCPU, counterRenderCPU)
}

// newOverhead takes the counters before and after, and what the processes used between; nil where no frame was published or nothing was measured.
func newOverhead(before, after map[string]float64, processes []bench.ProcessResult) *overheadResult {
	frames := after[counterFrames] - before[counterFrames]
	encode, render := after[counterEncodeCPU]-before[counterEncodeCPU], after[counterRenderCPU]-before[counterRenderCPU]
	if frames < 1 || encode <= 0 || render <= 0 {
		return nil
	}
	var serve, engine float64
	for _, p := range processes {
		switch p.Name {
		case processServe:
			serve += p.CPUSeconds
		case processEngine:
			engine += p.CPUSeconds
		}
	}
	perFrame := func(seconds float64) float64 { return seconds * 1000 / frames }
	return &overheadResult{
		Frames: int64(frames), EncodeMS: perFrame(encode), RenderMS: perFrame(render),
		ServeMS: perFrame(serve - encode), EngineMS: perFrame(engine - render), TotalMS: perFrame(serve + engine - encode - render),
	}
}

// String is for people.
func (r *overheadResult) String() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("  CPU of a published frame, ms, of %d: encoder %.3f, rendering %.3f; beside them serve %.3f + engine %.3f = %.3f\n",
		r.Frames, r.EncodeMS, r.RenderMS, r.ServeMS, r.EngineMS, r.TotalMS)
}
