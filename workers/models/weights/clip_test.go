package weights_test

import (
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"telefuser/workers/models/weights"
)

const toyCLIP = `{"architectures":["CLIPVisionModel"],"hidden_act":"gelu","hidden_size":16,"image_size":4,"intermediate_size":16,"layer_norm_eps":1e-05,"num_attention_heads":1,
	"num_channels":3,"num_hidden_layers":2,"patch_size":2,"projection_dim":8}`

func toyPicture(t *testing.T, joined bool) weights.Blueprint {
	t.Helper()
	c, err := readConfig(t, toyCLIP)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.CLIP()
	if err != nil {
		t.Fatal(err)
	}
	v.Joined = joined
	return v.Blueprint()
}

// sees lays down a model whose transformer reads a picture's features, by its tensors alone, with an image encoder.
func sees(t *testing.T, dir string, image map[string]tensor) {
	t.Helper()
	trees(t)["original"](dir)
	c, err := readConfig(t, toyDiT)
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.DiT()
	if err != nil {
		t.Fatal(err)
	}
	d.Image = 16
	rewriteAs(t, filepath.Join(dir, "diffusion_pytorch_model.safetensors"), d.Blueprint())
	if image != nil {
		writeFile(t, filepath.Join(dir, "image_encoder", "model.safetensors"), encode(t, image))
		writeFile(t, filepath.Join(dir, "image_encoder", weights.ConfigName), []byte(toyCLIP))
	}
}

// published are an image encoder's tensors as they lie in files: in the original's, the text half beside it.
func published(t *testing.T, joined bool) map[string]tensor {
	t.Helper()
	b := toyPicture(t, joined)
	if joined {
		all := maps.Clone(seeded(t, b, same))
		all["textual.token_embedding.weight"], all["log_scale"], all["visual.head"] = vector(16), tensor{weights.BF16, []int{}, make([]byte, 2)}, vector(8)
		return all
	}
	foreign := map[string]string{}
	for theirs, ours := range clipTable() {
		foreign[ours] = theirs
	}
	return seeded(t, b, func(name string) string { return foreign[name] })
}

func TestVerifyKnowsImageEncoders(t *testing.T) {
	for joined, layout := range map[bool]weights.Layout{true: weights.Original, false: weights.Diffusers} {
		dir := t.TempDir()
		sees(t, dir, published(t, joined))
		v := verify(t, dir, weights.Checks{Deep: true})
		last := v.Parts[len(v.Parts)-1]
		if !v.OK || len(v.Parts) != 5 || last.Part != weights.PartImage || last.Layout != layout {
			t.Errorf("joined %t: %+v", joined, v)
		}
	}
}

// TestVerifySaysWhatImageEncodersLack breaks a good model in one way after the other.
func TestVerifySaysWhatImageEncodersLack(t *testing.T) {
	const original = "models_clip_open-clip-xlm-roberta-large-vit-huge-14"
	for what, c := range map[string]struct {
		problem string
		lay     func(dir string)
	}{
		"none":    {"it is missing; looked for image_encoder, " + original + ".safetensors", func(dir string) { sees(t, dir, nil) }},
		"pickled": {original + ".pth. Convert it once", func(dir string) { sees(t, dir, nil); writeFile(t, filepath.Join(dir, original+".pth"), []byte("x")) }},
		"a small one without a shape": {"visual.cls_embedding is [1 1 16], and [1 1 1280] is wanted", func(dir string) {
			sees(t, dir, nil)
			writeFile(t, filepath.Join(dir, original+".safetensors"), encode(t, published(t, true)))
		}},
		"no layer": {"visual.transformer.1.mlp.2.bias is missing", func(dir string) {
			all := published(t, true)
			delete(all, "visual.transformer.1.mlp.2.bias")
			sees(t, dir, all)
		}},
		"one too many": {"visual.transformer.2.mlp.2.bias is surplus", func(dir string) {
			all := published(t, true)
			all["visual.transformer.2.mlp.2.bias"] = vector(16)
			sees(t, dir, all)
		}},
	} {
		dir := t.TempDir()
		c.lay(dir)
		v := verify(t, dir, weights.Checks{})
		for _, p := range v.Parts {
			said := strings.Join(p.Problems, "\n")
			if p.OK != (p.Part != weights.PartImage) || !p.OK && !strings.Contains(said, c.problem) {
				t.Errorf("%s: the %s is ok: %v, %.300q", what, p.Part, p.OK, said)
			}
		}
		if v.OK || len(v.Parts) != 5 {
			t.Errorf("%s: ok %t, %d parts", what, v.OK, len(v.Parts))
		}
	}
}

func TestCLIPConfigsAreChecked(t *testing.T) {
	for from, to := range map[string]string{
		`"hidden_act":"gelu"`: `"hidden_act":"quick_gelu"`, `"num_channels":3`: `"num_channels":4`, `"num_attention_heads":1`: `"num_attention_heads":3`,
		`"patch_size":2`: `"patch_size":3`, `"image_size":4`: `"image_size":1024`, `"num_hidden_layers":2`: `"num_hidden_layers":1`,
	} {
		c, err := readConfig(t, strings.Replace(toyCLIP, from, to, 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CLIP(); !errors.Is(err, weights.ErrConfig) {
			t.Errorf("%s: %v", to, err)
		}
	}
}
