package wan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// publicSmall is a plan of every part, and the configurations of its networks.
func publicSmall() (publicPlan, map[string]string) {
	return publicPlan{
			Seed: 3,
			LingBot: &publicLingBot{Width: 64, Height: 32, Chunk: 2, Chunks: 2, Local: 3, Sink: 1, Shift: 10, Time: 500, Scale: 1, Steps: []int{0, 500}, Settle: 4,
				Quiet: 0.1, Blocks: true, Given: 3, Keys: []string{"w"}},
			Film:   &publicFilm{Frames: 2, Height: 4, Width: 8, Given: 3, Time: 500},
			TI2V:   &publicFilm{Frames: 2, Height: 4, Width: 8, Given: 3, Known: 1, Time: 500},
			Sight:  &publicFilm{Frames: 2, Height: 4, Width: 8, Given: 3, Tokens: 5, Time: 500},
			Clip:   &publicClip{Pictures: [][2]int{{8, 6}}},
			VAE:    &publicVAE{Width: 64, Height: 32, Chunk: 1, Chunks: 2},
			VAE22:  &publicVAE{Width: 64, Height: 32, Chunk: 1, Chunks: 2},
			Text:   &publicText{IDs: [][]int32{{1, 2, 3}}},
			Solver: &publicSolver{Shift: 5, Steps: 4, N: 8},
		}, map[string]string{
			"lingbot": `{"_class_name": "WanModelFast", "in_dim": 36, "out_dim": 16, "dim": 128, "ffn_dim": 64, "freq_dim": 16, "text_dim": 16, "text_len": 4, "num_heads": 1, "num_layers": 1}`,
			"film": `{"in_channels": 36, "out_channels": 16, "attention_head_dim": 128, "num_attention_heads": 1, "ffn_dim": 64, "freq_dim": 16, "text_dim": 16, "text_len": 4,
				"num_layers": 1}`,
			"ti2v": `{"in_channels": 48, "out_channels": 48, "attention_head_dim": 128, "num_attention_heads": 1, "ffn_dim": 64, "freq_dim": 16, "text_dim": 16, "text_len": 4,
				"num_layers": 1}`,
			"vae":   `{"base_dim": 8, "dim_mult": [1, 2, 2, 2], "z_dim": 16}`,
			"vae22": `{"base_dim": 8, "decoder_base_dim": 16, "z_dim": 48, "is_residual": true, "patch_size": 2, "in_channels": 12, "out_channels": 12}`,
			"text":  `{"vocab_size": 8, "d_model": 16, "d_kv": 16, "d_ff": 16, "num_layers": 1, "num_heads": 1, "feed_forward_proj": "gated-gelu"}`,
			"sight": `{"in_channels": 36, "out_channels": 16, "attention_head_dim": 128, "num_attention_heads": 2, "ffn_dim": 64, "freq_dim": 16, "text_dim": 16, "text_len": 4,
				"num_layers": 1, "image_dim": 16}`,
			"clip": `{"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 8, "patch_size": 4}`,
		}
}

// TestPublicSmall makes every part of a small plan and looks at what is written: all files are there, whole, and no two of them are alike.
func TestPublicSmall(t *testing.T) {
	dir := t.TempDir()
	plan, configs := publicSmall()
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	publicFile(t, filepath.Join(dir, "plan.json"), text)
	for part, c := range configs {
		publicFile(t, filepath.Join(dir, part, weights.ConfigName), []byte(c))
		publicFile(t, filepath.Join(dir, part, "names.json"), publicNames(t, part, filepath.Join(dir, part, weights.ConfigName)))
	}
	publicParts(t, dir)
	const tokens, dim, given, rays = 2 * 2 * 4, 128, 4 * 20, 1536
	seen := map[string]string{}
	for name, numbers := range map[string]int{
		"lingbot/x.0": tokens * dim, "lingbot/x.1": tokens * dim, "lingbot/flow": tokens * 64, "lingbot/condition.1": tokens * given, "lingbot/rays.1": tokens * rays,
		"lingbot/latents.0": tokens * 64, "lingbot/latents.1": tokens * 64, "lingbot/frames.0": 5 * 64 * 32 * 3, "lingbot/frames.1": 8 * 64 * 32 * 3,
		"film/x.0": tokens * dim, "film/x.1": tokens * dim, "film/flow": tokens * 64,
		"ti2v/x.0": tokens * dim, "ti2v/x.1": tokens * dim, "ti2v/flow": tokens * 192,
		"vae22/latents.0": 2 * 4 * 48, "vae22/latents.1": 2 * 4 * 48, "vae22/frames.0": 64 * 32 * 3, "vae22/frames.1": 4 * 64 * 32 * 3,
		"sight/x.0": tokens * 2 * dim, "sight/x.1": tokens * 2 * dim, "sight/flow": tokens * 64, "clip/0": 5 * 16,
		"vae/latents.0": 4 * 8 * 16, "vae/latents.1": 4 * 8 * 16, "vae/frames.0": 64 * 32 * 3, "vae/frames.1": 4 * 64 * 32 * 3,
		"text/0": 3 * 16, "solver/latents": 4 * 8, "solver/times": 4,
	} {
		raw, err := os.ReadFile(filepath.Join(dir, "out", name+".f32"))
		if err != nil || len(raw) != 4*numbers {
			t.Errorf("%s: %d bytes, want %d: %v", name, len(raw), 4*numbers, err)
			continue
		}
		var sum float64
		for _, v := range decode(kernels.F32, raw) {
			sum += float64(v) * float64(v)
		}
		if !(sum > 0) || sum > 1e9 {
			t.Errorf("%s has squares of %g", name, sum)
		}
		if other := seen[string(raw)]; other != "" {
			t.Errorf("%s is %s", name, other)
		}
		seen[string(raw)] = name
	}
}

// publicNames are our own names of a part, as if a public implementation had them.
func publicNames(t *testing.T, part, path string) []byte {
	t.Helper()
	c, err := weights.ReadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	var b weights.Blueprint
	switch part {
	case "vae", "vae22":
		v, err := c.VAE()
		if err != nil {
			t.Fatal(err)
		}
		b = v.Blueprint()
	case "clip":
		v, err := c.CLIP()
		if err != nil {
			t.Fatal(err)
		}
		b = v.Blueprint()
	case "text":
		u, err := c.UMT5()
		if err != nil {
			t.Fatal(err)
		}
		b = u.Blueprint()
	default:
		d, err := c.DiT()
		if err != nil {
			t.Fatal(err)
		}
		b = d.Blueprint()
	}
	var names []string
	for _, p := range b.Parameters {
		names = append(names, p.Name)
	}
	text, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func publicFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
