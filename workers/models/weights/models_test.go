package weights_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"telefuser/workers/models/weights"
)

func TestTinyWorldFits(t *testing.T) {
	dir := tinyWorld(t)
	for file, b := range map[string]weights.Blueprint{"dit": weights.TinyDiT().Blueprint(), "vae": weights.TinyVAE().Blueprint()} {
		s, err := weights.Load(filepath.Join(dir, file+".safetensors"), b)
		if err != nil {
			t.Fatal(err)
		}
		if s.Random() || s.Layout() != weights.Original || !strings.HasSuffix(s.Origin(), file+".safetensors") {
			t.Errorf("%s: %v %s", s.Origin(), s.Random(), s.Layout())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPublishedModelsHaveTheirNumberOfParameters(t *testing.T) {
	wan := weights.DiTConfig{Dim: 5120, FFN: 13824, Layers: 40, Heads: 40, In: 16, Out: 16, Patch: [3]int{1, 2, 2}, TextDim: 4096, TextLen: 512, Freq: 256}
	small := wan
	small.Dim, small.FFN, small.Layers, small.Heads = 1536, 8960, 30, 12
	picture := wan
	picture.In, picture.Image = 36, 1280
	both := wan
	both.Dim, both.FFN, both.Layers, both.Heads, both.In, both.Out = 3072, 14336, 30, 24, 48, 48
	lingbot := wan
	lingbot.In, lingbot.Control = 36, weights.Camera
	for name, c := range map[string]struct {
		b    weights.Blueprint
		want float64 // billions, as published or counted by others
	}{
		"Wan 2.1 T2V 1.3B":   {small.Blueprint(), 1.419},
		"Wan 2.1 T2V 14B":    {wan.Blueprint(), 14.288},
		"Wan 2.1 I2V 14B":    {picture.Blueprint(), 16.396},
		"LingBot-World v2":   {lingbot.Blueprint(), 18.54},
		"tiny-world's DiT":   {weights.TinyDiT().Blueprint(), 0.00831},
		"tiny-world's VAE":   {weights.TinyVAE().Blueprint(), 0.00360},
		"Wan 2.1 VAE":        {weights.Wan21VAE().Blueprint(), 0.12689},
		"Wan 2.2 TI2V 5B":    {both.Blueprint(), 4.9998},
		"Wan 2.2 VAE":        {weights.Wan22VAE().Blueprint(), 0.70469},
		"UMT5-XXL's encoder": {weights.UMT5XXL().Blueprint(), 5.681},
		"CLIP ViT-H/14":      {weights.CLIPViTH().Blueprint(), 0.63077},
	} {
		if got := float64(c.b.Bytes(1)) / 1e9; got < c.want*0.998 || got > c.want*1.002 {
			t.Errorf("%s: %.5f billion parameters, want %g", name, got, c.want)
		}
		seen := map[string]bool{}
		for _, p := range c.b.Parameters {
			if seen[p.Name] {
				t.Errorf("%s: %s comes twice", name, p.Name)
			}
			seen[p.Name] = true
		}
	}
}

// TestPublishedLatentsHaveTheirMoments holds the published means and deviations of a VAE's latents to their sums, each number times its place: a figure that
// is missing, wrong or elsewhere changes them.
func TestPublishedLatentsHaveTheirMoments(t *testing.T) {
	c := weights.Wan22VAE()
	for name, x := range map[string]struct {
		of   []float64
		want float64
	}{"means": {c.Mean, -7.0659}, "deviations": {c.Std, 758.3531}} {
		var sum float64
		for i, v := range x.of {
			sum += float64(i) * v
		}
		if len(x.of) != c.Z || math.Abs(sum-x.want) > 1e-9 {
			t.Errorf("%d %s with a sum of %.4f", len(x.of), name, sum)
		}
	}
}

// tables are names of the diffusers layout and what they are here. They were taken from
// the published conversion of each model, name by name.
func tables() map[string]struct {
	b     weights.Blueprint
	names map[string]string
} {
	dit := weights.DiTConfig{Dim: 16, FFN: 16, Layers: 2, Heads: 1, In: 16, Out: 16, Patch: [3]int{1, 2, 2}, TextDim: 8, TextLen: 4, Freq: 4, Image: 8}
	return map[string]struct {
		b     weights.Blueprint
		names map[string]string
	}{
		"dit":        {dit.Blueprint(), ditTable()},
		"vae":        {weights.Wan21VAE().Blueprint(), vaeTable()},
		"vae of 2.2": {weights.Wan22VAE().Blueprint(), vae22Table()},
		"umt5":       {weights.UMT5Config{Vocabulary: 8, Dim: 8, Heads: 1, HeadDim: 8, FFN: 8, Layers: 2, Buckets: 4}.Blueprint(), umt5Table()},
		"clip":       {weights.CLIPConfig{Dim: 16, Heads: 1, FFN: 16, Layers: 2, Side: 4, Patch: 2}.Blueprint(), clipTable()},
	}
}

// TestBothLayouts writes every model under the names of diffusers and reads it under its own.
func TestBothLayouts(t *testing.T) {
	for model, c := range tables() {
		if len(c.names) != len(c.b.Parameters) {
			t.Errorf("%s: %d names in the table, %d parameters", model, len(c.names), len(c.b.Parameters))
		}
		foreign := map[string]string{}
		for theirs, ours := range c.names {
			foreign[ours] = theirs
			if got := c.b.Rename(theirs); got != ours {
				t.Errorf("%s: %s became %s, want %s", model, theirs, got, ours)
			}
		}
		for _, p := range c.b.Parameters {
			if foreign[p.Name] == "" {
				t.Errorf("%s: %s is not in the table", model, p.Name)
			}
		}
	}
}

func TestALayoutIsReadByItsOwnNames(t *testing.T) {
	c := tables()["umt5"]
	foreign := map[string]string{}
	for theirs, ours := range c.names {
		foreign[ours] = theirs
	}
	all := seeded(t, c.b, func(name string) string { return foreign[name] })
	all["encoder.embed_tokens.weight"] = all["shared.weight"] // some files hold both
	path := filepath.Join(t.TempDir(), "model.safetensors")
	writeFile(t, path, encode(t, all))
	s, err := weights.Load(path, c.b)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Layout() != weights.Diffusers {
		t.Errorf("layout %s", s.Layout())
	}
	made := weights.Random(7, c.b)
	for _, p := range c.b.Parameters {
		got, err1 := s.Floats(p.Name)
		want, err2 := made.Floats(p.Name)
		if err := errors.Join(err1, err2); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s differs: %v", p.Name, err)
		}
	}
}
