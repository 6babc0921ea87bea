package replay

import (
	"fmt"
	"strings"
	"time"

	"telefuser/internal/bench"
	"telefuser/internal/bench/viewer"
)

// RateTolerance is how far the rate at the viewer may be from the one that was asked for, in frames a second.
const RateTolerance = 0.05

// freezeMin is the gap between two frames from which on people call it a freeze.
const freezeMin = 500 * time.Millisecond

// Result is what became of a workload.
type Result struct {
	Machine bench.Machine `json:"machine"`
	Session string        `json:"session_id"`
	// Declared is what the server's last message says, Published what its record says, Received what came whole, Decoded what a decoder showed.
	Declared  int64 `json:"declared_frames"`
	Published int64 `json:"published_frames"`
	Received  int   `json:"received_frames"`
	Decoded   int   `json:"decoded_frames"`
	Dropped   int64 `json:"dropped_frames"`
	Chunks    int64 `json:"chunks"`
	// RepeatedTimes counts frames with the presentation time of another one; RepeatedPictures, among the Moving ones, those that look as another one does.
	RepeatedTimes    int `json:"repeated_times"`
	RepeatedPictures int `json:"repeated_pictures"`
	Moving           int `json:"moving_frames"`
	// Foreign are pictures of another size, which the media server adds by itself: it ends a track with one.
	Foreign int `json:"foreign_frames"`
	// PacketsLost never came.
	PacketsLost int `json:"packets_lost"`
	// Outcome and Reason are the record's.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	// CallbackFPS is the rate of frames at the viewer after the first one. Gaps are between neighbours; Freezes are those above 500 ms.
	CallbackFPS float64         `json:"callback_fps"`
	GapsMS      bench.Quantiles `json:"gaps_ms"`
	Freezes     int             `json:"freezes"`
	// FirstFrameMS is from the request to the first frame, RuntimeMS from the request to the end.
	FirstFrameMS float64 `json:"first_frame_ms"`
	RuntimeMS    float64 `json:"runtime_ms"`
}

// Problems names everything in which the result is not what the workload asked for. tolerance is that of the rate at the viewer, in frames a second.
func (r Result) Problems(w Workload, tolerance float64) []string {
	var out []string
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	want := int64(w.Frames)
	bad(r.Declared != want || r.Published != want || int64(r.Received) != want || int64(r.Decoded) != want,
		"%d frames declared, %d published, %d received, %d decoded, of %d", r.Declared, r.Published, r.Received, r.Decoded, want)
	bad(r.Dropped != 0, "%d frames dropped", r.Dropped)
	bad(r.Chunks != int64(w.Chunks), "%d chunks of %d", r.Chunks, w.Chunks)
	bad(r.RepeatedTimes != 0 || r.RepeatedPictures != 0, "%d frames came twice by their time, %d by their picture", r.RepeatedTimes, r.RepeatedPictures)
	bad(r.Foreign > 1, "%d pictures of another size", r.Foreign)
	bad(r.Moving == 0, "no frame is known to differ from the one before it")
	bad(r.Outcome != "verified" || r.Reason != "finished", "ended as %q, %q", r.Reason, r.Outcome)
	off := r.CallbackFPS - float64(w.FPS)
	late := off < -tolerance
	if w.RateMin > 0 {
		late = r.CallbackFPS < w.RateMin
	}
	bad(off > tolerance || late, "%.3f frames a second at the viewer", r.CallbackFPS)
	return out
}

// String is for people.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "frames: %d declared, %d published, %d received, %d decoded, %d dropped, in %d chunks\n", r.Declared, r.Published, r.Received, r.Decoded, r.Dropped, r.Chunks)
	fmt.Fprintf(&b, "twice: %d by their time; %d by their picture, of %d that move\n", r.RepeatedTimes, r.RepeatedPictures, r.Moving)
	fmt.Fprintf(&b, "outcome: %s, %s; packets lost: %d; pictures of the media server's own: %d\n", r.Outcome, r.Reason, r.PacketsLost, r.Foreign)
	fmt.Fprintf(&b, "callback rate: %.3f frames/s; gaps: %s; above 500 ms: %d\n", r.CallbackFPS, r.GapsMS, r.Freezes)
	fmt.Fprintf(&b, "first frame: %.0f ms; runtime: %.1f s\n", r.FirstFrameMS, r.RuntimeMS/1000)
	return b.String()
}

// own leaves the pictures out that are not of the session's size, and counts them.
func (r *Result) own(frames []viewer.Frame, width, height int) []viewer.Frame {
	var out []viewer.Frame
	for _, f := range frames {
		if w, h := f.Size(); f.Key && (w != width || h != height) {
			r.Foreign++
			continue
		}
		out = append(out, f)
	}
	return out
}

// watch fills in what the arrival of the frames says.
func (r *Result) watch(frames []viewer.Frame) {
	r.Received = len(frames)
	if len(frames) < 2 {
		return
	}
	seen := map[uint32]bool{}
	var gaps []time.Duration
	for i, f := range frames {
		if seen[f.Timestamp] {
			r.RepeatedTimes++
		}
		seen[f.Timestamp] = true
		if i > 0 {
			gap := f.At.Sub(frames[i-1].At)
			gaps = append(gaps, gap)
			if gap > freezeMin {
				r.Freezes++
			}
		}
	}
	r.CallbackFPS = float64(len(frames)-1) / frames[len(frames)-1].At.Sub(frames[0].At).Seconds()
	r.GapsMS = bench.NewQuantiles(gaps, 0)
}

// look fills in what the pictures say; from is the first frame that moves.
func (r *Result) look(pictures []digest, from int) {
	r.Decoded = len(pictures)
	seen := map[digest]bool{}
	for _, d := range pictures[min(from, len(pictures)):] {
		r.Moving++
		if seen[d] {
			r.RepeatedPictures++
		}
		seen[d] = true
	}
}
