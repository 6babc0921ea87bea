package terrain_test

import (
	"syscall"
	"testing"
	"time"

	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
)

func BenchmarkRender832x480(b *testing.B)   { benchmarkRender(b, 832, 480) }
func BenchmarkRender1920x1088(b *testing.B) { benchmarkRender(b, 1920, 1088) }

// benchmarkRender flies on autopilot over several worlds, one goroutine, and reports frames a second.
func benchmarkRender(b *testing.B, width, height int) {
	for _, prompt := range []string{"alpine lake in the morning", "tropical islands", "desert", "autumn forest"} {
		b.Run(prompt, func(b *testing.B) {
			world, err := terrain.NewWorld(terrain.WorldConfig{Prompt: prompt, Seed: 7, HourOfDay: -1})
			if err != nil {
				b.Fatal(err)
			}
			renderer, err := terrain.NewRenderer(world, width, height, 1)
			if err != nil {
				b.Fatal(err)
			}
			flight, err := terrain.NewFlight(terrain.FlightConfig{FPS: 16, Speed: 1, Seed: 7, Autopilot: true}, nil)
			if err != nil {
				b.Fatal(err)
			}
			frame := media.NewFrame(width, height)
			next := func() {
				pose, ticks := flight.Next()
				if _, err := renderer.Render(frame, pose, 1, ticks); err != nil {
					b.Fatal(err)
				}
			}
			next()
			b.ResetTimer()
			before := processorTime(b)
			for range b.N {
				next()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "FPS")
			// On a machine that others use too, only the time on the processor tells what a core of one's own would do.
			b.ReportMetric(float64(b.N)/(processorTime(b)-before).Seconds(), "FPS-per-core")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkOpen832x480 is a world's start: from the prompt to the first frame.
func BenchmarkOpen832x480(b *testing.B) {
	frame := media.NewFrame(832, 480)
	before := processorTime(b)
	defer func() {
		b.ReportMetric((processorTime(b)-before).Seconds()*1000/float64(b.N), "core-ms/op")
	}()
	for range b.N {
		world, err := terrain.NewWorld(terrain.WorldConfig{Prompt: "alpine lake in the morning", Seed: 7, HourOfDay: -1})
		if err != nil {
			b.Fatal(err)
		}
		renderer, err := terrain.NewRenderer(world, 832, 480, 1)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := renderer.Render(frame, terrain.Pose{}, 1, 0); err != nil {
			b.Fatal(err)
		}
	}
}
