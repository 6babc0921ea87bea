package terrain

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
	"telefuser/workers/media"
)

// TestBuildIsFresh fails when the kernels' source changed after its machine code was built.
func TestBuildIsFresh(t *testing.T) {
	image, err := LoadImage()
	if err != nil {
		t.Fatal(err)
	}
	if !image.Fresh() {
		t.Error("terrain.cu changed since it was built: run go run ./internal/kernelbuild (docs/kernels.md)")
	}
	if len(image.Cubins[kernels.ArchHopper]) == 0 || len(image.PTX) == 0 {
		t.Error("a build is missing")
	}
}

// TestClangCompilesTheKernels keeps them free of NVIDIA's own toolchain.
func TestClangCompilesTheKernels(t *testing.T) {
	clang, err := exec.LookPath("clang-19")
	if err != nil {
		t.Skipf("needs clang-19 with its NVPTX back end: %v", err)
	}
	out := filepath.Join(t.TempDir(), "terrain.ptx")
	log, err := exec.CommandContext(t.Context(), clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90a", "-nocudainc", "-nocudalib",
		"--cuda-feature=+ptx83", "-O1", "-S", "-o", out, "terrain.cu").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	ptx, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range kernelNames() {
		if !strings.Contains(string(ptx), ".entry "+name+"(") {
			t.Errorf("no kernel %s came out", name)
		}
	}
}

// onGPU opens the first GPU, or skips and says why.
func onGPU(tb testing.TB, portable bool) *CUDA {
	tb.Helper()
	image, err := LoadImage()
	if err != nil {
		tb.Fatal(err)
	}
	if portable {
		image.Cubins = nil
	}
	c, err := openCUDA(context.Background(), 0, image)
	if errors.Is(err, gpu.ErrNoDriver) || errors.Is(err, gpu.ErrNoDevice) {
		tb.Skipf("needs an NVIDIA GPU: %v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// TestCUDADrawsTheSameBytes compares whole frames of several countries and sizes, with the machine code and with the portable one.
func TestCUDADrawsTheSameBytes(t *testing.T) {
	for name, portable := range map[string]bool{"machine code": false, "portable code": true} {
		t.Run(name, func(t *testing.T) {
			c := onGPU(t, portable)
			for _, test := range []struct {
				prompt, style string
				hour          float64
				width, height int
				frames        int
			}{
				{"islands at sunset", "", -1, 200, 120, 30}, {"alpine lake in the morning mist", "", -1, 832, 480, 20},
				{"desert under stars", "", 1, 640, 360, 8}, {"volcano", "winter storm", -1, 96, 160, 40}, {"lagoon", "", 12, 66, 66, 17},
				{"autumn forest, lake, storm", "", 18.4, 1920, 1088, 3}, {"mars", "", 6.2, 1088, 1920, 2},
			} {
				world, err := NewWorld(WorldConfig{Prompt: test.prompt, StylePrompt: test.style, Seed: 4, HourOfDay: test.hour})
				if err != nil {
					t.Fatal(err)
				}
				drawBoth(t, c, world, test.width, test.height, flyAlong(t, test.frames, 1), 1)
				t.Logf("%q %dx%d: %d frames are equal", test.prompt, test.width, test.height, test.frames)
			}
		})
	}
}

// TestCUDAFollowsJumps draws poses whose maps push each other out within one chunk.
func TestCUDAFollowsJumps(t *testing.T) {
	c := onGPU(t, false)
	world, err := NewWorld(WorldConfig{Prompt: "coast", Seed: 3, HourOfDay: -1})
	if err != nil {
		t.Fatal(err)
	}
	var shots []Shot
	for i := range 20 {
		shots = append(shots, Shot{Pose: Pose{X: float64(i%3) * 30, Z: float64(i%2) * 1e5, Yaw: float64(i), Pitch: float64(i%5-2) * PitchLimit / 2}, Ticks: int64(i) << 35})
	}
	drawBoth(t, c, world, 128, 96, shots, 1)
}

func TestCUDAErrorsAreTheDevices(t *testing.T) {
	c := onGPU(t, false)
	if err := c.Plant(t.Context(), FaultMemory); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("an allocation over the top: %v", err)
	}
	world, err := NewWorld(WorldConfig{Prompt: "coast", HourOfDay: -1})
	if err != nil {
		t.Fatal(err)
	}
	drawBoth(t, c, world, 64, 64, flyAlong(t, 1, 1), 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.NewCUDARenderer(ended, world, 64, 64); !errors.Is(err, context.Canceled) {
		t.Errorf("a renderer opens under an ended context: %v", err)
	}
}

func BenchmarkCUDA832x480(b *testing.B)   { benchmarkCUDA(b, 832, 480) }
func BenchmarkCUDA1920x1088(b *testing.B) { benchmarkCUDA(b, 1920, 1088) }

// benchmarkCUDA flies on autopilot in chunks of 16 frames that end in the host's memory, and reports frames a second and the shares of
// the stages.
func benchmarkCUDA(b *testing.B, width, height int) {
	c := onGPU(b, false)
	for _, prompt := range []string{"alpine lake in the morning", "tropical islands", "desert", "autumn forest"} {
		b.Run(prompt, func(b *testing.B) {
			world, err := NewWorld(WorldConfig{Prompt: prompt, Seed: 7, HourOfDay: -1})
			if err != nil {
				b.Fatal(err)
			}
			r, err := c.NewCUDARenderer(b.Context(), world, width, height)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = r.Close() }()
			flight, err := NewFlight(FlightConfig{FPS: 16, Speed: 1, Seed: 7, Autopilot: true}, nil)
			if err != nil {
				b.Fatal(err)
			}
			frames, shots := make([]media.Frame, batchFrames), make([]Shot, batchFrames)
			for i := range frames {
				frames[i] = media.NewFrame(width, height)
			}
			var total Times
			next := func() {
				for i := range shots {
					shots[i].Pose, shots[i].Ticks = flight.Next()
				}
				times, err := r.Render(b.Context(), frames, shots, 1)
				if err != nil {
					b.Fatal(err)
				}
				total = total.Add(times)
			}
			next()
			next()
			total = Times{}
			b.ResetTimer()
			for range b.N {
				next()
			}
			n := float64(b.N * batchFrames)
			b.ReportMetric(n/b.Elapsed().Seconds(), "FPS")
			b.ReportMetric(float64(total.Encode.Nanoseconds())/n/1000, "map-us/frame")
			b.ReportMetric(float64(total.Generate.Nanoseconds())/n/1000, "device-us/frame")
			b.ReportMetric(float64(total.Decode.Nanoseconds())/n/1000, "out-us/frame")
		})
	}
}
