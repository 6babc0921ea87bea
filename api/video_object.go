package api

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
	"telefuser/openapi"
	"telefuser/workers/contract"
)

// video makes the wire object of a job. Every key of the contract is there, null where it is empty.
func video(job jobs.Job) openapi.Video {
	spec := job.Spec
	seed, fps, frames := spec.Seed, spec.FPS, totalFrames(job)
	v := openapi.Video{
		ID: job.ID, Object: openapi.VideoObjectVideo, Model: spec.Model, Status: openapi.VideoStatus(job.State), Progress: progress(job),
		CreatedAt: job.CreatedAt.Unix(), CompletedAt: unixOrNull(job.CompletedAt), ExpiresAt: unixOrNull(job.ExpiresAt),
		Prompt: &spec.Prompt, Size: sizeText(spec.Width, spec.Height), Seconds: spec.Seconds,
		Fps: &fps, Seed: &seed, NumFrames: &frames,
	}
	if spec.Task == contract.TaskRemix && spec.Source != nil {
		v.RemixedFromVideoID = &spec.Source.ID
	}
	if len(spec.Metadata) > 0 {
		metadata := openapi.Metadata(spec.Metadata)
		v.Metadata = &metadata
	}
	if spec.Priority != "" {
		priority := openapi.Priority(spec.Priority)
		v.Priority = &priority
	}
	if job.State == jobs.StateFailed {
		v.Error = videoError(job.Failure)
	}
	if job.State == jobs.StateCompleted && job.Result != nil {
		completed(&v, *job.Result)
	}
	return v
}

// completed adds what only the file can say.
func completed(v *openapi.Video, result jobs.Result) {
	if result.Seconds != "" {
		v.Seconds = result.Seconds
	}
	if ns := result.Facts.InferenceNS; ns != nil {
		seconds := float64(*ns) / 1e9
		v.InferenceTimeS = &seconds
	}
	if bytes := result.Facts.PeakMemoryBytes; bytes != nil {
		megabytes := float64(*bytes) / (1 << 20)
		v.PeakMemoryMb = &megabytes
	}
	if weights := result.Facts.Weights; weights != "" {
		v.Weights = &weights
	}
}

// videoError is what a client reads; a failure without a record still has a code.
func videoError(f *jobs.Failure) *openapi.VideoError {
	if f == nil {
		return &openapi.VideoError{Code: jobs.CodeInternal, Message: "The video failed."}
	}
	return &openapi.VideoError{Code: f.Code, Message: f.Message}
}

// totalFrames is the length of the whole file, promised or real.
func totalFrames(job jobs.Job) int {
	if job.State == jobs.StateCompleted && job.Result != nil && job.Result.Frames > 0 {
		return job.Result.Frames
	}
	if job.Spec.Task == contract.TaskExtend && job.Spec.Source != nil {
		return job.Spec.Source.Frames + job.Spec.Frames
	}
	return job.Spec.Frames
}

// progress is 100 only when the bytes can be downloaded.
func progress(job jobs.Job) int {
	switch job.State {
	case jobs.StateCompleted:
		return 100
	case jobs.StateQueued:
		return 0
	default:
		return max(0, min(99, job.Progress))
	}
}

func unixOrNull(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	seconds := t.Unix()
	return &seconds
}

func sizeText(width, height int) string { return strconv.Itoa(width) + "x" + strconv.Itoa(height) }

// placed are the wire objects with their places in the queue. The place is an extra: where it cannot be had, the objects go without it rather
// than not at all.
func (s *Server) placed(ctx context.Context, page ...jobs.Job) []openapi.Video {
	out := make([]openapi.Video, len(page))
	places, err := s.deps.Jobs.QueuePositions(ctx, page...)
	for i, job := range page {
		out[i] = video(job)
		if err == nil && places[i] > 0 {
			position := int64(places[i])
			out[i].QueuePosition = &position
		}
	}
	return out
}

// describeVideo is the wire object with its place in the queue, and the headers that go with it.
func (s *Server) describeVideo(ctx context.Context, c echo.Context, job jobs.Job) openapi.Video {
	v := s.placed(ctx, job)[0]
	header := c.Response().Header()
	if !job.State.Terminal() {
		header.Set("Openai-Poll-After-Ms", strconv.FormatInt(s.cfg.PollAfter.Milliseconds(), 10))
	}
	if job.State.Terminal() && job.Result != nil {
		if timing := serverTiming(job.Result.Facts); timing != "" {
			header.Set("Server-Timing", timing)
		}
	}
	return v
}

// serverTiming lists the known durations in milliseconds, in the order in which they passed.
func serverTiming(f jobs.Facts) string {
	var entries []string
	add := func(name string, ns *int64) {
		if ns != nil {
			entries = append(entries, name+";dur="+strconv.FormatFloat(float64(*ns)/1e6, 'f', 3, 64))
		}
	}
	add("queue", f.QueueNS)
	add("load", f.LoadNS)
	add("denoise", f.InferenceNS)
	add("encode", f.EncodeNS)
	add("store", f.StoreNS)
	for _, name := range sortedNames(f.StagesNS) {
		ns := f.StagesNS[name]
		if isToken(name) {
			add("stage_"+name, &ns)
		}
	}
	return strings.Join(entries, ", ")
}

// isToken is whether a name may stand in a header as it is.
func isToken(name string) bool { return name != "" && len(name) <= 64 && allIDLetters(name) }
