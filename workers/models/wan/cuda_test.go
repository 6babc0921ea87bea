package wan_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
)

// openGPU opens a backend of the first GPU, or skips the test and says why.
func openGPU(t testing.TB) (*kernels.Threaded, error) {
	t.Helper()
	d, err := gpu.Open()
	if errors.Is(err, gpu.ErrNoDriver) || errors.Is(err, gpu.ErrNoDevice) {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	}
	if err != nil {
		return nil, err
	}
	return kernels.OpenThreaded(t.Context(), d, 0, kernels.CUDAOptions{})
}

// onGPU opens a backend of the first GPU for each part.
func onGPU(t testing.TB) (b wan.WorldBackends) {
	t.Helper()
	for _, at := range []*kernels.Backend{&b.Encode, &b.Denoise, &b.Decode} {
		one, err := openGPU(t)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := one.Close(); err != nil {
				t.Error(err)
			}
		})
		*at = one
	}
	return b
}

func randomWorld(t testing.TB, b wan.WorldBackends, c wan.WorldConfig) *wan.World {
	t.Helper()
	w, err := wan.NewWorld(b, weights.Random(11, c.VAE.Blueprint()), weights.Random(12, c.DiT.Blueprint()), c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSmallWorldOnCUDA is TestWorldAgreesWithPyTorch on a GPU.
func TestSmallWorldOnCUDA(t *testing.T) {
	b, c := onGPU(t), smallWorld()
	c.Type = kernels.BF16
	rollSmall(t, randomWorld(t, b, c), 0.02, 43)
}

// TestTinyWorldOnCUDA holds ten chunks of tiny-world to the processor's float32, and to PyTorch's where TELEFUSER_GOLDEN has it.
func TestTinyWorldOnCUDA(t *testing.T) {
	dir, cpu := shared(t), kernels.NewCPU(kernels.CPUOptions{})
	onProcessor := fly(t, tinyWorld(t, dir, wan.WorldBackends{Encode: cpu, Denoise: cpu, Decode: cpu}, kernels.F32), stripes(160, 96), 0, 7)
	onCUDA := fly(t, tinyWorld(t, dir, onGPU(t), kernels.BF16), stripes(160, 96), 0, 7)
	var latents, frames []float32
	if golden := os.Getenv("TELEFUSER_GOLDEN"); golden != "" {
		latents, frames = stored(t, golden, "latents"), stored(t, golden, "frames")
	}
	for c, at := 0, 0; c < 10; c++ {
		want, _ := onProcessor.next()
		got, _ := onCUDA.next()
		wanted, rgb := onProcessor.frames(want), onCUDA.frames(got)
		agree := psnr(t, clamped(rgb), clamped(wanted))
		t.Logf("chunk %d: latents differ from the processor's by %.2g, frames agree by %.1f dB", c, relative(t, got, want), agree)
		if agree < 45 {
			t.Errorf("chunk %d: frames agree with the processor's by %.1f dB", c, agree)
		}
		if latents == nil {
			continue
		}
		each := len(latents) / 10
		agree = psnr(t, clamped(rgb), clamped(frames[at:at+len(rgb)]))
		t.Logf("chunk %d: latents differ from PyTorch's by %.2g, frames agree by %.1f dB", c, relative(t, got, latents[c*each:(c+1)*each]), agree)
		if agree < 45 {
			t.Errorf("chunk %d: frames agree with PyTorch's by %.1f dB", c, agree)
		}
		at += len(rgb)
	}
}

// BenchmarkTinyWorldOnCUDA makes chunks of 16 frames, one part after the other.
func BenchmarkTinyWorldOnCUDA(b *testing.B) {
	c := smallWorld()
	c.VAE, c.DiT, c.Width, c.Height, c.Type = weights.TinyVAE(), weights.TinyDiT(), 160, 96, kernels.BF16
	benchmarkWorld(b, randomWorld(b, onGPU(b), c))
}

// lingBot has the shapes of LingBot-World v2, and a short table of texts in place of its text encoder.
func lingBot() wan.WorldConfig {
	c := smallWorld()
	c.VAE = weights.Wan21VAE()
	c.DiT = weights.DiTConfig{Dim: 5120, FFN: 13824, Layers: 40, Heads: 40, In: 36, Out: 16, Patch: [3]int{1, 2, 2}, TextDim: 64, TextLen: 512, Freq: 256,
		Control: weights.Camera, Local: 18, Sink: 6, Eps: 1e-6, Prompts: 1}
	c.Width, c.Height, c.Type, c.Settle = 832, 480, kernels.BF16, 30
	return c
}

// BenchmarkLingBotOnCUDA makes chunks with the true shapes of LingBot-World v2.
func BenchmarkLingBotOnCUDA(b *testing.B) {
	began := time.Now()
	w := randomWorld(b, onGPU(b), lingBot())
	b.Logf("loaded in %v", time.Since(began))
	benchmarkWorld(b, w)
}

func benchmarkWorld(b *testing.B, w *wan.World) {
	b.Helper()
	f := fly(b, w, nil, 0, 1)
	var latents []float32
	for i := range 5 { // the window fills up
		began := time.Now()
		latents, _ = f.next()
		made := time.Now()
		f.frames(latents)
		b.Logf("chunk %d: condition and latents in %v, frames in %v", i, made.Sub(began), time.Since(made))
	}
	condition, err := w.Condition(f.v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("denoise", func(b *testing.B) {
		for b.Loop() {
			if latents, err = w.Denoise(b.Context(), f.v, f.text, condition, f.camera.Next(4), wan.SeededNoise(1, 1)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := w.Frames(f.v, latents); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("condition", func(b *testing.B) {
		for b.Loop() {
			if _, err := w.Condition(f.v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
