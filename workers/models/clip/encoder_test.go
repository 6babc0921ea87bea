package clip_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/media"
	"telefuser/workers/models/clip"
	"telefuser/workers/models/weights"
)

// shape is a small encoder with heads of 16, in the layout of transformers.
func shape() weights.CLIPConfig {
	return weights.CLIPConfig{Dim: 32, Heads: 2, FFN: 48, Layers: 3, Side: 12, Patch: 4, Eps: 1e-5}
}

// checkers is a picture whose squares have sides of n.
func checkers(width, height, n int) media.Image {
	img := media.Image{Width: width, Height: height}
	for y := range height {
		for x := range width {
			img.RGB = append(img.RGB, byte(200*((x/n+y/n)%2)), byte(9*x), byte(11*y))
		}
	}
	return img
}

func features(t *testing.T, b kernels.Backend, s *weights.Set, c weights.CLIPConfig, act kernels.DType, picture media.Image) []float32 {
	t.Helper()
	e, err := clip.NewEncoder(b, s, c, act)
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Encode(picture)
	if err != nil || len(v) != e.Tokens()*e.Dim() {
		t.Fatalf("%d numbers: %v", len(v), err)
	}
	return v
}

func distance(got, want []float32) float64 {
	var d, n float64
	for i := range want {
		d += math.Pow(float64(got[i])-float64(want[i]), 2)
		n += math.Pow(float64(want[i]), 2)
	}
	return math.Sqrt(d / n)
}

func TestEveryBackendSeesTheSame(t *testing.T) {
	c, picture := shape(), checkers(31, 20, 3)
	set := weights.Random(4, c.Blueprint())
	want := features(t, kernels.Reference{}, set, c, kernels.F32, picture)
	for what, got := range map[string][]float32{
		"processor, f32": features(t, kernels.NewCPU(kernels.CPUOptions{}), set, c, kernels.F32, picture), "reference, bf16": features(t, kernels.Reference{}, set, c, kernels.BF16, picture),
		"processor, bf16": features(t, kernels.NewCPU(kernels.CPUOptions{}), set, c, kernels.BF16, picture),
	} {
		bound := 1e-5
		if what != "processor, f32" {
			bound = 2e-2
		}
		if d := distance(got, want); !(d < bound) {
			t.Errorf("%s: off by %.2g", what, d)
		}
	}
	if other := features(t, kernels.Reference{}, set, c, kernels.F32, checkers(31, 20, 4)); distance(other, want) < 1e-2 {
		t.Error("another picture looks the same")
	}
}

// TestBothLayoutsSeeTheSame writes the matrices of queries, keys and values apart, and as one.
func TestBothLayoutsSeeTheSame(t *testing.T) {
	apart := shape()
	joined := apart
	joined.Joined = true
	set := weights.Random(4, apart.Blueprint())
	var all []weights.Parameter
	data := map[string][]byte{}
	for _, p := range joined.Blueprint().Parameters {
		names := []string{p.Name}
		if at, end, ok := cutName(p.Name); ok {
			names = []string{at + "attn.q." + end, at + "attn.k." + end, at + "attn.v." + end}
		}
		for _, name := range names {
			v, err := set.Floats(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range v {
				data[p.Name] = binary.LittleEndian.AppendUint32(data[p.Name], math.Float32bits(f))
			}
		}
		all = append(all, p)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	store(t, path, all, data)
	one, err := weights.Load(path, joined.Blueprint())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	b, picture := kernels.NewCPU(kernels.CPUOptions{}), checkers(40, 12, 5)
	if !slices.Equal(features(t, b, one, joined, kernels.F32, picture), features(t, b, set, apart, kernels.F32, picture)) {
		t.Error("the layouts differ")
	}
}

func cutName(name string) (at, end string, ok bool) {
	i := bytes.Index([]byte(name), []byte("attn.to_qkv."))
	if i < 0 {
		return "", "", false
	}
	return name[:i], name[i+len("attn.to_qkv."):], true
}

// store writes a safetensors file of F32.
func store(t *testing.T, path string, all []weights.Parameter, data map[string][]byte) {
	t.Helper()
	header, body := map[string]any{}, []byte(nil)
	for _, p := range all {
		header[p.Name] = map[string]any{"dtype": "F32", "shape": p.Shape, "data_offsets": []int{len(body), len(body) + len(data[p.Name])}}
		body = append(body, data[p.Name]...)
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if err := os.WriteFile(path, append(file, body...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAnEncoderRefuses(t *testing.T) {
	c := shape()
	set := weights.Random(4, c.Blueprint())
	for what, change := range map[string]func(*weights.CLIPConfig){
		"wide heads": func(c *weights.CLIPConfig) { c.Dim, c.Heads = 272, 1 }, "odd heads": func(c *weights.CLIPConfig) { c.Heads = 8 },
		"no heads": func(c *weights.CLIPConfig) { c.Heads = 0 }, "width": func(c *weights.CLIPConfig) { c.FFN = 50 },
		"one layer": func(c *weights.CLIPConfig) { c.Layers = 1 }, "patches": func(c *weights.CLIPConfig) { c.Patch = 5 },
		"weights": func(c *weights.CLIPConfig) { c.Side = 16 },
	} {
		other := c
		change(&other)
		if _, err := clip.NewEncoder(kernels.Reference{}, set, other, kernels.F32); !errors.Is(err, weights.ErrConfig) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := clip.NewEncoder(kernels.Reference{}, set, c, kernels.I32); !errors.Is(err, weights.ErrConfig) {
		t.Errorf("integers: %v", err)
	}
	e, err := clip.NewEncoder(kernels.Reference{}, set, c, kernels.F32)
	if err != nil {
		t.Fatal(err)
	}
	for what, p := range map[string]media.Image{"nothing": {}, "too few bytes": {Width: 2, Height: 2, RGB: make([]byte, 11)}} {
		if _, err := e.Encode(p); !errors.Is(err, clip.ErrPicture) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
