package pipeline_test

import (
	"syscall"
	"testing"
	"time"

	"telefuser/workers/contract"
	"telefuser/workers/pipeline"
)

// BenchmarkTerrain832x480 makes the chunks of a bounded and of a live session, one frame an operation, and reports frames a second on the wall clock and per second of
// processor time.
func BenchmarkTerrain832x480(b *testing.B) {
	for _, prompt := range []string{"alpine lake in the morning", "tropical islands", "desert", "autumn forest"} {
		b.Run(prompt+"/bounded", func(b *testing.B) { benchmarkTerrain(b, prompt, b.N+13) })
		b.Run(prompt+"/live", func(b *testing.B) { benchmarkTerrain(b, prompt, 0) })
	}
}

func benchmarkTerrain(b *testing.B, prompt string, frames int) {
	p, err := pipeline.New("terrain")
	if err != nil {
		b.Fatal(err)
	}
	session, err := p.Open(b.Context(), pipeline.Request{Task: contract.TaskTextToVideo, Prompt: prompt, Width: 832, Height: 480, FPS: 16, Frames: frames, Seed: 7})
	if err != nil {
		b.Fatal(err)
	}
	keys := "w"
	if frames == 0 {
		if err := session.Control(b.Context(), pipeline.Control{Keys: &keys}); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := session.Next(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	before, made := processorTime(b), 0
	for made < b.N {
		chunk, err := session.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		made += len(chunk.Frames)
	}
	b.ReportMetric(float64(made)/b.Elapsed().Seconds(), "FPS")
	b.ReportMetric(float64(made)/(processorTime(b)-before).Seconds(), "FPS-per-core")
	b.StopTimer()
	if err := session.Close(); err != nil {
		b.Fatal(err)
	}
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
