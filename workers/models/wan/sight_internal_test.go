package wan

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// goldenSight makes what testdata/golden_sight asks for and holds it, tensor by tensor, to what public implementations made of it.
func goldenSight(t *testing.T, onGPU bool, bound float64) {
	t.Helper()
	const golden = "testdata/golden_sight"
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	var plan publicPlan
	if err := json.Unmarshal(text, &plan); err != nil {
		t.Fatal(err)
	}
	plan.BF16, plan.GPU = onGPU, onGPU
	if text, err = json.Marshal(plan); err != nil {
		t.Fatal(err)
	}
	publicFile(t, filepath.Join(dir, "plan.json"), text)
	publicParts(t, dir)
	f, err := weights.OpenFile(filepath.Join(golden, "golden.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Entries()) != 6 {
		t.Errorf("%d tensors", len(f.Entries()))
	}
	for _, e := range f.Entries() {
		raw, err := os.ReadFile(filepath.Join(dir, "out", e.Name+".f32"))
		if err != nil {
			t.Fatal(err)
		}
		far, cos := apart(decode(kernels.F32, raw), decode(kernels.F32, f.Data(e)))
		t.Logf("%s: relative error %.2g, cosine %.7f", e.Name, far, cos)
		if least := 0.999; !(far <= bound) && (strings.Contains(e.Name, "/x.") || !onGPU) || !(cos >= least) {
			t.Errorf("%s: relative error %g, at most %g; cosine %g, at least %g", e.Name, far, bound, cos, least)
		}
	}
}

// apart is the relative error of got and the cosine between both.
func apart(got, want []float32) (relative, cosine float64) {
	if len(got) != len(want) {
		return math.Inf(1), 0
	}
	var d, a, b, ab float64
	for i, w := range want {
		x, y := float64(got[i]), float64(w)
		d, a, b, ab = d+(x-y)*(x-y), a+x*x, b+y*y, ab+x*y
	}
	return math.Sqrt(d / b), ab / math.Sqrt(a*b)
}

// TestSightAgreesWithPublic is a transformer that reads a picture's features, and the encoder that makes them, on the processor.
func TestSightAgreesWithPublic(t *testing.T) { goldenSight(t, false, 1e-4) }

// TestSightOnCUDA is the same on a GPU, in bf16. The tokens before a block are those of the blocks before, whose errors add up.
func TestSightOnCUDA(t *testing.T) {
	d, err := gpu.Open()
	if err != nil {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	}
	if n, err := d.Count(); err != nil || n < 1 {
		t.Skipf("needs an NVIDIA GPU: there are %d, %v", n, err)
	}
	goldenSight(t, true, 1e-2)
}

// TestSightIsAsked refuses features that do not fit, and passes with features where none are read or without where some are.
func TestSightIsAsked(t *testing.T) {
	c := weights.DiTConfig{Dim: 128, FFN: 64, Layers: 1, Heads: 1, In: 36, Out: 16, Patch: [3]int{1, 2, 2}, TextDim: 16, TextLen: 4, Freq: 32, Image: 16, Local: -1, Eps: 1e-6}
	b := kernels.NewCPU(kernels.CPUOptions{})
	of := func(image int) *DiT {
		c.Image = image
		m, err := NewDiT(b, weights.Random(1, c.Blueprint()), c, kernels.F32, 1, 2, 2)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	reads, blind := of(16), of(0)
	sight, err := reads.NewSight(seq(257 * 16))
	if err != nil {
		t.Fatal(err)
	}
	for what, try := range map[string]func() error{
		"no numbers":      func() error { _, err := reads.NewSight(nil); return err },
		"another width":   func() error { _, err := reads.NewSight(seq(17)); return err },
		"too many tokens": func() error { _, err := reads.NewSight(seq(258 * 16)); return err },
		"none are read":   func() error { _, err := blind.NewSight(seq(16)); return err },
		"a pass without":  func() error { return passOnce(t, reads, nil) },
		"a pass with":     func() error { return passOnce(t, blind, sight) },
	} {
		if err := try(); !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := passOnce(t, reads, sight); err != nil {
		t.Error(err)
	}
	c.Image = 24
	if _, err := ReadDiT(b, weights.Random(1, c.Blueprint()), c, kernels.F32); !errors.Is(err, ErrConfig) {
		t.Errorf("features of 24 numbers: %v", err)
	}
}

func seq(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(math.Sin(float64(i)))
	}
	return out
}

// passOnce predicts at one time.
func passOnce(t *testing.T, m *DiT, sight *Sight) error {
	t.Helper()
	cache, err1 := m.NewCache()
	text, err2 := m.NewText(seq(m.cfg.TextDim))
	times, err3 := m.NewTimes([]float64{500})
	if err := errors.Join(err1, err2, err3, m.Begin(cache, seq(m.tokens*m.condition*patch*patch), nil)); err != nil {
		t.Fatal(err)
	}
	w := walker{dit: m, cache: cache, times: times, guide: Guide{Text: text, Sight: sight, Scale: 1}}
	_, err := w.flow(0, seq(m.tokens*m.cfg.Out*patch*patch))
	return err
}
