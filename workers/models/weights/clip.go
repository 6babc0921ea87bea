package weights

import (
	"fmt"
	"math"
	"strings"
)

// CLIPConfig is the shape of a CLIP's image encoder, a vision transformer: what Wan 2.1's picture-to-video transformers see a picture with.
type CLIPConfig struct {
	Dim, Heads, FFN, Layers int
	// Side is that of the square picture and Patch that of the squares that it is cut into, in pixels.
	Side, Patch int
	Eps         float64
	// Joined says that a layer's queries, keys and values are one matrix, as in the original checkpoint.
	Joined bool
}

// Limits of an image encoder's dimensions.
const (
	sideMax       = 1024
	pictureTokens = 4096
)

// CLIPViTH is the ViT-H/14 of Wan 2.1, whose original file has no configuration.
func CLIPViTH() CLIPConfig {
	return CLIPConfig{Dim: 1280, Heads: 16, FFN: 5120, Layers: 32, Side: 224, Patch: 14, Eps: 1e-5, Joined: true}
}

// CLIP reads an image encoder's shape in the words of CLIPVisionModel. The error wraps ErrConfig.
func (c Config) CLIP() (CLIPConfig, error) {
	r := &reader{Config: c}
	v := CLIPConfig{
		Dim:    r.integer(16, dimMax, 0, "hidden_size"),
		Heads:  r.integer(1, headsMax, 0, "num_attention_heads"),
		FFN:    r.integer(16, ffnMax, 0, "intermediate_size"),
		Layers: r.integer(2, layersMax, 0, "num_hidden_layers"),
		Side:   r.integer(2, sideMax, 0, "image_size"),
		Patch:  r.integer(1, sideMax, 0, "patch_size"),
		Eps:    r.number(1e-12, 1e-2, 1e-5, "layer_norm_eps"),
	}
	r.want("hidden_act", `"gelu"`)
	r.want("num_channels", "3")
	if v.Dim%v.Heads != 0 {
		r.fail("%d heads do not share %d channels", v.Heads, v.Dim)
	}
	if v.Side%v.Patch != 0 || v.Tokens() > pictureTokens {
		r.fail("a picture of %d pixels in patches of %d", v.Side, v.Patch)
	}
	return v, r.err
}

// Tokens are a picture's: one for each patch, and one in front of them.
func (c CLIPConfig) Tokens() int { return (c.Side/c.Patch)*(c.Side/c.Patch) + 1 }

// clipMark is the tensor that tells the original checkpoint.
const clipMark = "visual.transformer.0.attn.to_qkv.weight"

// Observe completes the shape with what only the tensors of a checkpoint tell.
func (c CLIPConfig) Observe(at *Checkpoint) CLIPConfig {
	_, c.Joined = at.Shape(clipMark)
	return c
}

// Blueprint lists the encoder's parameters by the names of the original checkpoint, which holds the text half of the CLIP too.
func (c CLIPConfig) Blueprint() Blueprint {
	l, d := &list{}, c.Dim
	first, places := []int{d}, []int{c.Tokens(), d}
	if c.Joined {
		first, places = []int{1, 1, d}, []int{1, c.Tokens(), d}
	}
	l.weight("visual.patch_embedding", d, 3, c.Patch, c.Patch)
	l.table("visual.cls_embedding", 1/math.Sqrt(float64(d)), first...)
	l.table("visual.pos_embedding", 1/math.Sqrt(float64(d)), places...)
	l.norm("visual.pre_norm", d)
	for i := range c.Layers {
		at := fmt.Sprintf("visual.transformer.%d.", i)
		l.norm(at+"norm1", d)
		if c.Joined {
			l.affine(at+"attn.to_qkv", 3*d, d)
		} else {
			l.affine(at+"attn.q", d, d)
			l.affine(at+"attn.k", d, d)
			l.affine(at+"attn.v", d, d)
		}
		l.affine(at+"attn.proj", d, d)
		l.norm(at+"norm2", d)
		l.affine(at+"mlp.0", c.FFN, d)
		l.affine(at+"mlp.2", d, c.FFN)
	}
	l.norm("visual.post_norm", d)
	return Blueprint{
		Model: "CLIP image encoder", Parameters: *l, Rename: renameCLIP,
		Others: []string{"textual.", "log_scale", "visual.head", "visual_projection.", "vision_model.embeddings.position_ids", "embeddings.position_ids"},
	}
}

// clipNames turn beginnings of names of the layout of transformers into the original ones.
var clipNames = pairs{ //nolint:gochecknoglobals // constant table
	{"embeddings.class_embedding", "visual.cls_embedding"}, {"embeddings.position_embedding.weight", "visual.pos_embedding"},
	{"embeddings.patch_embedding.", "visual.patch_embedding."}, {"pre_layrnorm.", "visual.pre_norm."}, {"post_layernorm.", "visual.post_norm."},
}

// clipLayerNames do so for what follows encoder.layers.N. in a name.
var clipLayerNames = pairs{ //nolint:gochecknoglobals // constant table
	{"self_attn.q_proj.", "attn.q."}, {"self_attn.k_proj.", "attn.k."}, {"self_attn.v_proj.", "attn.v."}, {"self_attn.out_proj.", "attn.proj."},
	{"layer_norm1.", "norm1."}, {"layer_norm2.", "norm2."}, {"mlp.fc1.", "mlp.0."}, {"mlp.fc2.", "mlp.2."},
}

// renameCLIP turns a name of CLIPVisionModel into the original one. Files before transformers 5 have vision_model. in front.
func renameCLIP(name string) string {
	name = strings.TrimPrefix(name, "vision_model.")
	rest, ok := strings.CutPrefix(name, "encoder.layers.")
	if !ok {
		return clipNames.rename(name)
	}
	number, part, _ := strings.Cut(rest, ".")
	return "visual.transformer." + number + "." + clipLayerNames.rename(part)
}
