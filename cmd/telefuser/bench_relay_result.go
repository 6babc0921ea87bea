package main

import (
	"fmt"
	"strings"
	"time"

	"telefuser/internal/bench"
	"telefuser/internal/bench/viewer"
)

// relayResult is what all viewers saw.
type relayResult struct {
	Date     time.Time     `json:"date"`
	Machine  bench.Machine `json:"machine"`
	Seconds  float64       `json:"seconds"`
	Sessions int           `json:"sessions"`
	// FPSMin is the rate of the viewer who had the least, FPSMean that of all; Missing and Freezes are all viewers' together, GapMax the longest of all.
	FPSMin    float64               `json:"fps_min"`
	FPSMean   float64               `json:"fps_mean"`
	Missing   int                   `json:"missing"`
	Freezes   int                   `json:"freezes"`
	GapMax    time.Duration         `json:"gap_max_ns"`
	JitterMS  bench.Quantiles       `json:"jitter_ms"`
	Viewers   []viewer.Steadiness   `json:"viewers"`
	Processes []bench.ProcessResult `json:"processes"`
}

// add counts one viewer.
func (r *relayResult) add(s viewer.Steadiness) {
	n := float64(len(r.Viewers))
	if n == 0 || s.FPS < r.FPSMin {
		r.FPSMin = s.FPS
	}
	r.FPSMean = (r.FPSMean*n + s.FPS) / (n + 1)
	r.Missing, r.Freezes, r.GapMax = r.Missing+s.Missing, r.Freezes+s.Freezes, max(r.GapMax, s.GapMax)
	r.Viewers = append(r.Viewers, s)
}

// text is for people.
func (r *relayResult) text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d streams, %d viewers, %.0f s, load average %s\n", r.Sessions, len(r.Viewers), r.Seconds, r.Machine.LoadAverage())
	fmt.Fprintf(&text, "  FPS %.3f at least, %.3f on average; %d frames missing, %d freezes, longest gap %.0f ms\n", r.FPSMin, r.FPSMean, r.Missing, r.Freezes, float64(r.GapMax)/1e6)
	fmt.Fprintf(&text, "  jitter of arrival  %s\n", quantileCells(r.JitterMS))
	for _, p := range r.Processes {
		fmt.Fprintf(&text, "  %-22s %6.2f s CPU, %5.1f %% of a core, %d MiB\n", p.Name, p.CPUSeconds, 100*p.CPUSeconds/r.Seconds, p.RSSBytesMax>>20)
	}
	return text.String()
}
