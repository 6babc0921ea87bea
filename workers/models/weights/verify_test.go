package weights_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"telefuser/workers/models/weights"
)

const (
	toyDiT   = `{"_class_name":"WanModel","dim":16,"ffn_dim":16,"freq_dim":4,"in_dim":4,"num_heads":1,"num_layers":2,"out_dim":4,"text_dim":8,"text_len":4}`
	toyVAE   = `{"_class_name":"AutoencoderKLWan","base_dim":8,"z_dim":4,"dim_mult":[1,2],"num_res_blocks":1,"temperal_downsample":[true],"latents_mean":[0,0,0,0],"latents_std":[1,1,1,1]}`
	toyVAE22 = `{"_class_name":"AutoencoderKLWan","base_dim":8,"decoder_base_dim":16,"z_dim":4,"dim_mult":[1,2],"num_res_blocks":1,"temperal_downsample":[true],"is_residual":true,"patch_size":2,"in_channels":12,"out_channels":12,"latents_mean":[0,0,0,0],"latents_std":[1,1,1,1]}`
	toyT5    = `{"architectures":["UMT5EncoderModel"],"d_ff":8,"d_kv":8,"d_model":8,"num_heads":1,"num_layers":1,"vocab_size":16}`
)

// toy gives the blueprints of the small model.
func toy(t *testing.T) (dit, vae, umt5 weights.Blueprint) {
	t.Helper()
	c1, err1 := readConfig(t, toyDiT)
	d, err2 := c1.DiT()
	c2, err3 := readConfig(t, toyVAE)
	v, err4 := c2.VAE()
	c3, err5 := readConfig(t, toyT5)
	u, err6 := c3.UMT5()
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	return d.Blueprint(), v.Blueprint(), u.Blueprint()
}

// trees are the ways to lay a small model down, each with the number of its parts.
func trees(t *testing.T) map[string]func(dir string) int {
	dit, vae, umt5 := toy(t)
	network := func(dir, file, config string, b weights.Blueprint) {
		writeFile(t, filepath.Join(dir, file), encode(t, seeded(t, b, same)))
		if config != "" {
			writeFile(t, filepath.Join(filepath.Dir(filepath.Join(dir, file)), weights.ConfigName), []byte(config))
		}
	}
	rest := func(dir string) {
		network(dir, "vae/diffusion_pytorch_model.safetensors", toyVAE, vae)
		network(dir, "text_encoder/model.safetensors", toyT5, umt5)
		writeFile(t, filepath.Join(dir, "tokenizer/spiece.model"), []byte("x"))
	}
	return map[string]func(dir string) int{
		"original": func(dir string) int {
			network(dir, "diffusion_pytorch_model.safetensors", toyDiT, dit)
			rest(dir)
			return 4
		},
		"LingBot": func(dir string) int {
			network(dir, "transformers/model-00001-of-00001.safetensors", toyDiT, dit)
			rest(dir)
			return 4
		},
		"two transformers": func(dir string) int {
			network(dir, "high_noise_model/diffusion_pytorch_model.safetensors", toyDiT, dit)
			network(dir, "low_noise_model/diffusion_pytorch_model.safetensors", toyDiT, dit)
			rest(dir)
			return 5
		},
		"diffusers": func(dir string) int {
			network(dir, "transformer/diffusion_pytorch_model.safetensors", toyDiT, dit)
			rest(dir)
			return 4
		},
		"diffusers with two": func(dir string) int {
			writeFile(t, filepath.Join(dir, "model_index.json"), []byte(`{"_class_name":"WanPipeline","transformer_2":["diffusers","WanTransformer3DModel"]}`))
			network(dir, "transformer/diffusion_pytorch_model.safetensors", toyDiT, dit)
			network(dir, "transformer_2/diffusion_pytorch_model.safetensors", toyDiT, dit)
			rest(dir)
			return 5
		},
		"diffusers with an index of one": func(dir string) int {
			writeFile(t, filepath.Join(dir, "model_index.json"), []byte(`{"_class_name":"WanPipeline","transformer_2":[null,null]}`))
			network(dir, "transformer/diffusion_pytorch_model.safetensors", toyDiT, dit)
			rest(dir)
			return 4
		},
		"Wan 2.2 TI2V": func(dir string) int {
			network(dir, "diffusion_pytorch_model.safetensors", toyDiT, dit)
			rest(dir)
			c, err1 := readConfig(t, toyVAE22)
			v, err2 := c.VAE()
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			network(dir, "vae/diffusion_pytorch_model.safetensors", toyVAE22, v.Blueprint())
			return 4
		},
		"tiny-world with a configuration": func(dir string) int {
			network(dir, "dit.safetensors", `{"dit":`+toyDiT+`,"vae":`+toyVAE+`}`, dit)
			network(dir, "vae.safetensors", "", vae)
			return 2
		},
	}
}

func verify(t *testing.T, dir string, c weights.Checks) weights.Verdict {
	t.Helper()
	v, err := weights.Verify(t.Context(), dir, c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerifyKnowsEveryTree(t *testing.T) {
	for name, lay := range trees(t) {
		dir := t.TempDir()
		parts := lay(dir)
		v := verify(t, dir, weights.Checks{Deep: true})
		if !v.OK || len(v.Parts) != parts {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestAFilesNameTellsItsShape lays the files of both original VAEs down: there is no configuration beside them.
func TestAFilesNameTellsItsShape(t *testing.T) {
	for name, want := range map[string]weights.VAEConfig{"Wan2.1_VAE.safetensors": weights.Wan21VAE(), "Wan2.2_VAE.safetensors": weights.Wan22VAE()} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, name), []byte("x"))
		f, err := weights.Find(dir)
		if err != nil {
			t.Fatal(err)
		}
		place, _ := f.Place(weights.PartVAE)
		if got, err := place.VAE(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "Wan2.2_VAE.pth"), []byte("x"))
	if p := verify(t, dir, weights.Checks{}).Parts[1]; p.Part != weights.PartVAE || len(p.Problems) != 1 || !strings.Contains(p.Problems[0], "Wan2.2_VAE.pth. Convert it once") {
		t.Errorf("%+v", p)
	}
}

func TestVerifyTinyWorld(t *testing.T) {
	v := verify(t, tinyWorld(t), weights.Checks{Deep: true})
	if !v.OK || len(v.Parts) != 2 || v.Parts[0].Parameters != 8313408 || v.Parts[1].Parameters == 0 || v.Parts[0].Config != "built in" {
		t.Errorf("%+v", v)
	}
}

// TestVerifySaysWhatIsWrong breaks a good model in one way after the other.
func TestVerifySaysWhatIsWrong(t *testing.T) {
	dit, _, _ := toy(t)
	at := func(dir, name string) string { return filepath.Join(dir, name) }
	remove := func(dir, name string) {
		if err := os.RemoveAll(at(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	file := "diffusion_pytorch_model.safetensors"
	rewrite := func(dir string, change func(all map[string]tensor)) {
		all := maps.Clone(seeded(t, dit, same))
		change(all)
		writeFile(t, at(dir, file), encode(t, all))
	}
	for what, c := range map[string]struct {
		part    weights.Part
		problem string
		harm    func(dir string)
	}{
		"no VAE":      {weights.PartVAE, "it is missing; looked for vae, Wan2.1_VAE.safetensors, Wan2.2_VAE.safetensors, Wan2.1_VAE.pth, Wan2.2_VAE.pth", func(dir string) { remove(dir, "vae") }},
		"pickled VAE": {weights.PartVAE, "Wan2.1_VAE.pth. Convert it once", func(dir string) { remove(dir, "vae"); writeFile(t, at(dir, "Wan2.1_VAE.pth"), []byte("x")) }},
		"other VAE":   {weights.PartVAE, "decoder.conv1.weight is missing", func(dir string) { remove(dir, "vae"); rewriteAs(t, at(dir, "Wan2.1_VAE.safetensors"), dit) }},
		"VAE of another model": {weights.PartVAE, "its latents have 2 channels, and the transformer makes 4", func(dir string) {
			remove(dir, "vae")
			text := strings.NewReplacer(`"z_dim":4`, `"z_dim":2`, `[0,0,0,0]`, `[0,0]`, `[1,1,1,1]`, `[1,1]`).Replace(toyVAE)
			c, err := readConfig(t, text)
			if err != nil {
				t.Fatal(err)
			}
			vae, err := c.VAE()
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, at(dir, "vae/config.json"), []byte(text))
			writeFile(t, at(dir, "vae/"+file), encode(t, seeded(t, vae.Blueprint(), same)))
		}},
		"no tokenizer": {weights.PartTokenizer, "it is missing; looked for tokenizer, google/umt5-xxl", func(dir string) { remove(dir, "tokenizer") }},
		"no text":      {weights.PartText, "it is missing; looked for text_encoder", func(dir string) { remove(dir, "text_encoder") }},
		"no config":    {weights.PartDiT, "no such file", func(dir string) { remove(dir, "config.json") }},
		"bad config": {weights.PartDiT, "dim is 17000", func(dir string) {
			writeFile(t, at(dir, "config.json"), []byte(strings.Replace(toyDiT, `"dim":16`, `"dim":17000`, 1)))
		}},
		"no tensor": {weights.PartDiT, "blocks.1.norm3.bias is missing", func(dir string) { rewrite(dir, func(all map[string]tensor) { delete(all, "blocks.1.norm3.bias") }) }},
		"one too many": {weights.PartDiT, "blocks.2.norm3.bias is surplus", func(dir string) {
			rewrite(dir, func(all map[string]tensor) { all["blocks.2.norm3.bias"] = vector(16) })
		}},
		"other shape": {weights.PartDiT, "blocks.1.norm3.bias is [8], and [16] is wanted", func(dir string) { rewrite(dir, func(all map[string]tensor) { all["blocks.1.norm3.bias"] = vector(8) }) }},
		"other type": {weights.PartDiT, "norm3.bias is of F8_E4M3", func(dir string) {
			rewrite(dir, func(all map[string]tensor) {
				all["blocks.1.norm3.bias"] = tensor{"F8_E4M3", []int{16}, make([]byte, 16)}
			})
		}},
		"cut": {weights.PartDiT, "the tensors have", func(dir string) { cut(t, at(dir, file)) }},
		"infinite": {weights.PartDiT, "blocks.1.norm3.bias is not finite at element 3", func(dir string) {
			rewrite(dir, func(all map[string]tensor) {
				v := vector(16)
				v.Data[6], v.Data[7] = 0x80, 0xff
				all["blocks.1.norm3.bias"] = v
			})
		}},
		"not finite as F32": {weights.PartDiT, "blocks.1.norm3.bias is not finite at element 15", func(dir string) {
			rewrite(dir, func(all map[string]tensor) {
				d := make([]byte, 64)
				d[62], d[63] = 0xc0, 0x7f
				all["blocks.1.norm3.bias"] = tensor{weights.F32, []int{16}, d}
			})
		}},
		"not finite as F16": {weights.PartDiT, "blocks.1.norm3.bias is not finite at element 0", func(dir string) {
			rewrite(dir, func(all map[string]tensor) {
				d := make([]byte, 32)
				d[1] = 0xfc
				all["blocks.1.norm3.bias"] = tensor{weights.F16, []int{16}, d}
			})
		}},
	} {
		dir := t.TempDir()
		trees(t)["original"](dir)
		c.harm(dir)
		v := verify(t, dir, weights.Checks{Deep: true})
		if v.OK {
			t.Errorf("%s: passed", what)
		}
		for _, p := range v.Parts {
			said := strings.Join(p.Problems, "\n")
			if p.OK != (p.Part != c.part) || p.Part == c.part && !strings.Contains(said, c.problem) {
				t.Errorf("%s: the %s is ok: %v, %q", what, p.Part, p.OK, said)
			}
		}
	}
}

func rewriteAs(t *testing.T, path string, b weights.Blueprint) {
	t.Helper()
	writeFile(t, path, encode(t, seeded(t, b, same)))
}

func cut(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-1); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyFindsNothing(t *testing.T) {
	v := verify(t, t.TempDir(), weights.Checks{})
	if v.OK || len(v.Parts) != 4 || !strings.Contains(v.Parts[0].Problems[0], "looked for transformer, transformers, high_noise_model, dit.safetensors") {
		t.Errorf("%+v", v)
	}
	if _, err := weights.Verify(t.Context(), filepath.Join(t.TempDir(), "none"), weights.Checks{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "file")
	writeFile(t, path, nil)
	if _, err := weights.Verify(t.Context(), path, weights.Checks{}); !errors.Is(err, weights.ErrAbsent) {
		t.Error(err)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "model_index.json"), []byte(`[`))
	if v := verify(t, dir, weights.Checks{}); v.OK || len(v.Parts) != 1 || len(v.Parts[0].Problems) != 1 {
		t.Errorf("%+v", v)
	}
}

func TestVerifyAsksTheTokenizer(t *testing.T) {
	dir := t.TempDir()
	trees(t)["original"](dir)
	broken := errors.New("no pieces")
	v := verify(t, dir, weights.Checks{Tokenizer: func(at string) error {
		if at != filepath.Join(dir, "tokenizer") {
			t.Errorf("asked for %s", at)
		}
		return broken
	}})
	if last := v.Parts[3]; v.OK || last.OK || last.Problems[0] != "no pieces" {
		t.Errorf("%+v", last)
	}
}

func TestDigests(t *testing.T) {
	dir := t.TempDir()
	trees(t)["original"](dir)
	file := "diffusion_pytorch_model.safetensors"
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	sums := func(lines string) weights.Verdict {
		writeFile(t, filepath.Join(dir, weights.DigestsName), []byte(lines))
		return verify(t, dir, weights.Checks{Deep: true})
	}
	if v := sums(fmt.Sprintf("%x  %s\n%x *%s\n", sha256.Sum256(data), file, sha256.Sum256(data), file)); !v.OK || len(v.Digests) != 2 {
		t.Errorf("%+v", v.Digests)
	}
	for lines, problem := range map[string]string{
		fmt.Sprintf("%x  %s\n", sha256.Sum256(nil), file): "its SHA-256 is " + fmt.Sprintf("%x", sha256.Sum256(data)),
		fmt.Sprintf("%x  none\n", sha256.Sum256(nil)):     "no such file",
		fmt.Sprintf("%x  ../other\n", sha256.Sum256(nil)): "line 1 is no digest of a file in the folder",
		"abc  config.json\n":                              "line 1 is no digest",
		strings.Repeat("x", 70000):                        "token too long",
	} {
		if v := sums(lines); v.OK || len(v.Digests) != 1 || !strings.Contains(v.Digests[0].Problem, problem) {
			t.Errorf("%.40q: %+v", lines, v.Digests)
		}
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	trees(t)["original"](dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := weights.Verify(ctx, dir, weights.Checks{Deep: true}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAVerdictIsJSON(t *testing.T) {
	dir := t.TempDir()
	text, err := json.Marshal(verify(t, dir, weights.Checks{}))
	if err != nil || !strings.Contains(string(text), `"ok":false`) || !strings.Contains(string(text), `"part":"VAE"`) {
		t.Errorf("%s %v", text, err)
	}
}
