package streaming

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"telefuser/workers/media"
)

// sink is a publisher that does nothing.
type sink struct{}

func (sink) WaitSubscribed(context.Context, string) error { return nil }
func (sink) WriteFrame(context.Context, media.Frame, time.Duration, time.Time) (Encoding, error) {
	return Encoding{Took: time.Microsecond}, nil
}
func (sink) Send(context.Context, string, []byte, bool) error { return nil }
func (sink) Events() <-chan Event                             { return nil }
func (sink) WriteSound(media.Sound, time.Duration) error      { return nil }
func (sink) Close() error                                     { return nil }

// BenchmarkFrame is the service's own work for one frame, beside render and encode: a chunk's reports are shared by its 16 frames.
func BenchmarkFrame(b *testing.B) {
	const frames = 16
	c := &claim{worker: "w", session: Session{ID: "s", Spec: Spec{Width: 832, Height: 480, FPS: 16, Controller: "ann"}}}
	r := newRun(PoolConfig{}.withDefaults(), c, nil, nil, NewExecutionLease(time.Second, nil).Sit(0), newPoolMetrics(), newWorkerStats("0"), slog.New(slog.DiscardHandler))
	r.prepare(b.Context())
	r.link.pub = sink{}
	r.pacer.period = 0
	frame := media.NewFrame(832, 480)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := r.show(b.Context(), frame, time.Duration(i), time.Time{}); err != nil {
			b.Fatal(err)
		}
		if i%frames == 0 {
			it := &item{Chunk: Chunk{Index: i, Frames: make([]media.Frame, frames), Keys: "w", StagesNS: map[string]int64{"dit": 1, "vae": 2}, Timing: benchTiming()}, ready: time.Now()}
			r.measureChunk(it, time.Second)
			r.shown(it, shown{frames: frames, begun: time.Now(), ended: time.Now()}, true)
		}
	}
}

// benchTiming is what the scheduler of three stages tells of a chunk.
func benchTiming() *Timing {
	ns, seconds, now := int64(1e6), 0.1, time.Now()
	t := &Timing{ResidenceNS: ns, ControlToOutputNS: &ns, PeriodNS: &ns, FirstOutputSeconds: &seconds, ControlToOutput: &LatencySummary{}, ChunkPeriod: &LatencySummary{}}
	for _, stage := range []string{"encode", "dit", "vae"} {
		t.Invocations = append(t.Invocations, Invocation{Stage: stage, InputsReadyAt: now, AdmittedAt: now, CompletedAt: now, WaitNS: ns, RunNS: ns})
		t.Idle = append(t.Idle, Idle{Stage: stage, Reason: "control", From: now, DurationNS: ns})
	}
	return t
}
