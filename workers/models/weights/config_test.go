package weights_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"telefuser/workers/models/weights"
)

func readConfig(t *testing.T, text string) (weights.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), weights.ConfigName)
	writeFile(t, path, []byte(text))
	return weights.ReadConfig(path)
}

const (
	originalDiT  = `{"_class_name":"WanModel","_diffusers_version":"0.30.0","dim":1536,"eps":1e-06,"ffn_dim":8960,"freq_dim":256,"in_dim":16,"model_type":"t2v","num_heads":12,"num_layers":30,"out_dim":16,"text_len":512}`
	diffusersDiT = `{"_class_name":"WanTransformer3DModel","added_kv_proj_dim":null,"attention_head_dim":128,"cross_attn_norm":true,"eps":1e-06,"ffn_dim":8960,"freq_dim":256,"image_dim":null,"in_channels":16,"num_attention_heads":12,"num_layers":30,"out_channels":16,"patch_size":[1,2,2],"pos_embed_seq_len":null,"qk_norm":"rms_norm_across_heads","rope_max_seq_len":1024,"text_dim":4096}`
	lingbotDiT   = `{"_class_name":"WanModelFast","control_type":"cam","dim":5120,"eps":1e-06,"ffn_dim":13824,"freq_dim":256,"in_dim":36,"local_attn_size":18,"model_type":"i2v","num_heads":40,"num_layers":40,"out_dim":16,"sink_size":6,"text_len":512}`
	plainVAE     = `{"_class_name":"AutoencoderKLWan","base_dim":96,"z_dim":4,"dim_mult":[1,2,4],"num_res_blocks":2,"attn_scales":[],"temperal_downsample":[false,true],"latents_mean":[0,0,0,0],"latents_std":[1,1,1,2]}`
	residualVAE  = `{"_class_name":"AutoencoderKLWan","base_dim":160,"decoder_base_dim":256,"z_dim":2,"dim_mult":[1,2,4,4],"num_res_blocks":2,"attn_scales":[],"dropout":0.0,"in_channels":12,"is_residual":true,"out_channels":12,"patch_size":2,"scale_factor_spatial":16,"scale_factor_temporal":4,"temperal_downsample":[false,true,true],"latents_mean":[0,1],"latents_std":[1,2]}`
	plainUMT5    = `{"architectures":["UMT5EncoderModel"],"d_ff":10240,"d_kv":64,"d_model":4096,"feed_forward_proj":"gated-gelu","layer_norm_epsilon":1e-06,"num_heads":64,"num_layers":24,"relative_attention_max_distance":128,"relative_attention_num_buckets":32,"vocab_size":256384}`
)

func TestConfigurations(t *testing.T) {
	small := weights.DiTConfig{
		Dim: 1536, FFN: 8960, Layers: 30, Heads: 12, In: 16, Out: 16, Patch: [3]int{1, 2, 2}, TextDim: 4096, TextLen: 512, Freq: 256, Local: -1, Eps: 1e-6,
	}
	lingbot := weights.DiTConfig{
		Dim: 5120, FFN: 13824, Layers: 40, Heads: 40, In: 36, Out: 16, Patch: [3]int{1, 2, 2}, TextDim: 4096, TextLen: 512, Freq: 256,
		Control: weights.Camera, Local: 18, Sink: 6, Eps: 1e-6,
	}
	for text, want := range map[string]weights.DiTConfig{originalDiT: small, diffusersDiT: small, lingbotDiT: lingbot} {
		c, err := readConfig(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.DiT(); err != nil || got != want {
			t.Errorf("%s: %+v %v", c.Class(), got, err)
		}
	}
	c, err := readConfig(t, plainVAE)
	if err != nil {
		t.Fatal(err)
	}
	vae := weights.VAEConfig{
		Base: 96, Z: 4, Multiples: []int{1, 2, 4}, ResBlocks: 2, TimeHalved: []bool{false, true}, Mean: []float64{0, 0, 0, 0}, Std: []float64{1, 1, 1, 2},
	}
	if got, err := c.VAE(); err != nil || !reflect.DeepEqual(got, vae) {
		t.Errorf("%+v %v", got, err)
	}
	if c, err = readConfig(t, residualVAE); err != nil {
		t.Fatal(err)
	}
	vae = weights.Wan22VAE()
	vae.Z, vae.Mean, vae.Std = 2, []float64{0, 1}, []float64{1, 2}
	if got, err := c.VAE(); err != nil || !reflect.DeepEqual(got, vae) {
		t.Errorf("%+v %v", got, err)
	}
	if c, err = readConfig(t, plainUMT5); err != nil {
		t.Fatal(err)
	}
	if got, err := c.UMT5(); err != nil || got != weights.UMT5XXL() || c.Class() != "UMT5EncoderModel" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestEveryDimensionHasALimit(t *testing.T) {
	dit := func(c weights.Config) error { _, err := c.DiT(); return err }
	vae := func(c weights.Config) error { _, err := c.VAE(); return err }
	umt5 := func(c weights.Config) error { _, err := c.UMT5(); return err }
	for _, x := range []struct {
		text, old, bad, reason string
		read                   func(weights.Config) error
	}{
		{originalDiT, `"dim":1536`, `"dim":16400`, "dim is 16400; it goes from 16 to 16384", dit},
		{originalDiT, `"dim":1536`, `"dim":1537`, "12 heads do not share 1537 channels", dit},
		{originalDiT, `"dim":1536,`, ``, "dim is 0", dit},
		{originalDiT, `"dim":1536`, `"dim":1536.5`, "dim is no whole number: 1536.5", dit},
		{originalDiT, `"dim":1536`, `"dim":"1536"`, `dim is no whole number: "1536"`, dit},
		{originalDiT, `"dim":1536`, `"dim":99999999999999999999`, "dim is no whole number", dit},
		{originalDiT, `"ffn_dim":8960`, `"ffn_dim":200000`, "ffn_dim is 200000", dit},
		{originalDiT, `"freq_dim":256`, `"freq_dim":-2`, "freq_dim is -2", dit},
		{originalDiT, `"freq_dim":256`, `"freq_dim":255`, "freq_dim is 255", dit},
		{originalDiT, `"in_dim":16`, `"in_dim":2000`, "in_dim is 2000", dit},
		{originalDiT, `"out_dim":16`, `"out_dim":0`, "out_dim is 0", dit},
		{originalDiT, `"num_heads":12`, `"num_heads":0`, "num_heads is 0", dit},
		{originalDiT, `"num_layers":30`, `"num_layers":1000`, "num_layers is 1000", dit},
		{originalDiT, `"text_len":512`, `"text_len":5000`, "text_len is 5000", dit},
		{originalDiT, `"eps":1e-06`, `"eps":1`, "eps is 1;", dit},
		{originalDiT, `"eps":1e-06`, `"eps":"x"`, "eps is no number", dit},
		{originalDiT, `"text_len":512`, `"sink_size":-1`, "sink_size is -1", dit},
		{originalDiT, `"text_len":512`, `"local_attn_size":2,"sink_size":2`, "sink_size is 2", dit},
		{originalDiT, `"text_len":512`, `"control_type":"x"`, `control_type is "x"`, dit},
		{originalDiT, `"text_len":512`, `"control_type":1`, `control_type is no text`, dit},
		{diffusersDiT, `[1,2,2]`, `[1,2]`, "patch_size has 2 values", dit},
		{diffusersDiT, `[1,2,2]`, `[1,2,9]`, "patch_size holds 9", dit},
		{diffusersDiT, `[1,2,2]`, `[1,"2",2]`, "patch_size is no list", dit},
		{diffusersDiT, `"attention_head_dim":128`, `"attention_head_dim":1000000`, "attention_head_dim is 1000000", dit},
		{diffusersDiT, `"image_dim":null`, `"image_dim":-1`, "image_dim is -1", dit},
		{diffusersDiT, `"qk_norm":"rms_norm_across_heads"`, `"qk_norm":false`, "qk_norm is false", dit},
		{diffusersDiT, `"pos_embed_seq_len":null`, `"pos_embed_seq_len":514`, "pos_embed_seq_len is 514", dit},
		{plainVAE, `"base_dim":96`, `"base_dim":1024`, "base_dim is 1024", vae},
		{plainVAE, `"base_dim":96`, `"base_dim":96,"decoder_base_dim":1024`, "decoder_base_dim is 1024", vae},
		{plainVAE, `"base_dim":96`, `"base_dim":96,"is_residual":1`, "is_residual is neither true nor false: 1", vae},
		{plainVAE, `"base_dim":96`, `"base_dim":96,"in_channels":12`, "in_channels is 12", vae},
		{residualVAE, `"patch_size":2`, `"patch_size":3`, "patch_size is 3", vae},
		{residualVAE, `"patch_size":2`, `"patch_size":null`, "in_channels is 12; [3] are known", vae},
		{plainVAE, `[1,2,4]`, `[1,2,4,4,4,4,4]`, "dim_mult has 7 values", vae},
		{plainVAE, `[1,2,4]`, `[1,2,99]`, "dim_mult holds 99", vae},
		{plainVAE, `[1,2,4]`, `[1,2]`, "temperal_downsample has 2 values, and 1 are wanted", vae},
		{plainVAE, `[0,0,0,0]`, `[0,0,0]`, "latents_mean has 3 values", vae},
		{plainVAE, `"latents_mean":[0,0,0,0],`, ``, "belong together", vae},
		{plainVAE, `[1,1,1,2]`, `[1,1,1,0]`, "latents_std holds 0", vae},
		{plainVAE, `"num_res_blocks":2`, `"num_res_blocks":100`, "num_res_blocks is 100", vae},
		{plainUMT5, `"vocab_size":256384`, `"vocab_size":99999999`, "vocab_size is 99999999", umt5},
		{plainUMT5, `"gated-gelu"`, `"relu"`, `feed_forward_proj is "relu"`, umt5},
		{plainUMT5, `"relative_attention_num_buckets":32`, `"relative_attention_num_buckets":33`, "relative_attention_num_buckets is 33", umt5},
		{plainUMT5, `"relative_attention_max_distance":128`, `"relative_attention_max_distance":8`, "relative_attention_max_distance is 8", umt5},
	} {
		if !strings.Contains(x.text, x.old) {
			t.Fatalf("%s is not in the text", x.old)
		}
		c, err := readConfig(t, strings.Replace(x.text, x.old, x.bad, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := x.read(c); !errors.Is(err, weights.ErrConfig) || !strings.Contains(err.Error(), x.reason) {
			t.Errorf("%s: want %q, got %v", x.bad, x.reason, err)
		}
	}
}

func TestUnreadableConfigurations(t *testing.T) {
	for text, reason := range map[string]string{
		`[]`: "not a JSON object", `{"dim":1,"dim":2}`: `"dim" comes twice`, "{\"\xff\":1}": "not UTF-8", `{"a":1} x`: "something after",
		`{"a":"` + strings.Repeat("x", 1<<20) + `"}`: "more than 1048576 bytes",
	} {
		if _, err := readConfig(t, text); !errors.Is(err, weights.ErrConfig) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.40s: want %q, got %v", text, reason, err)
		}
	}
	if _, err := weights.ReadConfig(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func FuzzConfig(f *testing.F) {
	for _, text := range []string{originalDiT, diffusersDiT, lingbotDiT, plainVAE, residualVAE, plainUMT5} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), weights.ConfigName)
	f.Fuzz(func(t *testing.T, text []byte) {
		writeFile(t, path, text)
		c, err := weights.ReadConfig(path)
		if err != nil {
			if !errors.Is(err, weights.ErrConfig) {
				t.Fatal(err)
			}
			return
		}
		if d, err := c.DiT(); err == nil && d.Blueprint().Bytes(1) < 1 {
			t.Errorf("%+v has no parameters", d)
		}
		if v, err := c.VAE(); err == nil && v.Blueprint().Bytes(1) < 1 {
			t.Errorf("%+v has no parameters", v)
		}
		if u, err := c.UMT5(); err == nil && u.Blueprint().Bytes(1) < 1 {
			t.Errorf("%+v has no parameters", u)
		}
	})
}
