package weights

import (
	"fmt"
	"math"
	"strings"
)

// Blueprint lists a transformer's parameters by the names of the original checkpoints.
func (d DiTConfig) Blueprint() Blueprint {
	l := &list{}
	patch := d.Patch[0] * d.Patch[1] * d.Patch[2]
	l.affine("patch_embedding", d.Dim, d.In, d.Patch[0], d.Patch[1], d.Patch[2])
	if n := d.Control.ControlChannels(); n > 0 {
		l.affine("patch_embedding_wancamctrl", d.Dim, n*PixelFold*PixelFold*patch)
		l.affine("c2ws_hidden_states_layer1", d.Dim, d.Dim)
		l.affine("c2ws_hidden_states_layer2", d.Dim, d.Dim)
	}
	l.affine("text_embedding.0", d.Dim, d.TextDim)
	l.affine("text_embedding.2", d.Dim, d.Dim)
	l.affine("time_embedding.0", d.Dim, d.Freq)
	l.affine("time_embedding.2", d.Dim, d.Dim)
	l.affine("time_projection.1", 6*d.Dim, d.Dim)
	if d.Image > 0 {
		l.norm("img_emb.proj.0", d.Image)
		l.affine("img_emb.proj.1", d.Image, d.Image)
		l.affine("img_emb.proj.3", d.Dim, d.Image)
		l.norm("img_emb.proj.4", d.Dim)
	}
	for i := range d.Layers {
		d.block(l, fmt.Sprintf("blocks.%d.", i))
	}
	l.affine("head.head", patch*d.Out, d.Dim)
	l.table("head.modulation", 1/math.Sqrt(float64(d.Dim)), 1, 2, d.Dim)
	if d.Prompts > 0 {
		l.table("prompts", 1, d.Prompts, d.TextLen, d.TextDim)
	}
	return Blueprint{Model: "DiT", Parameters: *l, Rename: renameDiT}
}

// block adds the parameters of one layer.
func (d DiTConfig) block(l *list, at string) {
	for _, attention := range []string{"self_attn.", "cross_attn."} {
		for _, part := range []string{"q", "k", "v", "o"} {
			l.affine(at+attention+part, d.Dim, d.Dim)
		}
		l.gain(at+attention+"norm_q.weight", d.Dim)
		l.gain(at+attention+"norm_k.weight", d.Dim)
	}
	if d.Image > 0 {
		l.affine(at+"cross_attn.k_img", d.Dim, d.Dim)
		l.affine(at+"cross_attn.v_img", d.Dim, d.Dim)
		l.gain(at+"cross_attn.norm_k_img.weight", d.Dim)
	}
	l.norm(at+"norm3", d.Dim)
	l.affine(at+"ffn.0", d.FFN, d.Dim)
	l.affine(at+"ffn.2", d.Dim, d.FFN)
	l.table(at+"modulation", 1/math.Sqrt(float64(d.Dim)), 1, 6, d.Dim)
	if d.Control != NoControl {
		for _, part := range []string{"cam_injector_layer1", "cam_injector_layer2", "cam_scale_layer", "cam_shift_layer"} {
			l.affine(at+part, d.Dim, d.Dim)
		}
	}
}

// ditNames turn beginnings of names of the diffusers layout into the original ones.
var ditNames = pairs{ //nolint:gochecknoglobals // constant table
	{"condition_embedder.time_embedder.linear_1.", "time_embedding.0."},
	{"condition_embedder.time_embedder.linear_2.", "time_embedding.2."},
	{"condition_embedder.text_embedder.linear_1.", "text_embedding.0."},
	{"condition_embedder.text_embedder.linear_2.", "text_embedding.2."},
	{"condition_embedder.time_proj.", "time_projection.1."},
	{"condition_embedder.image_embedder.norm1.", "img_emb.proj.0."},
	{"condition_embedder.image_embedder.ff.net.0.proj.", "img_emb.proj.1."},
	{"condition_embedder.image_embedder.ff.net.2.", "img_emb.proj.3."},
	{"condition_embedder.image_embedder.norm2.", "img_emb.proj.4."},
	{"proj_out.", "head.head."},
	{"scale_shift_table", "head.modulation"},
}

// blockNames do so for what follows blocks.N. in a name.
var blockNames = pairs{ //nolint:gochecknoglobals // constant table
	{"attn1.to_q.", "self_attn.q."}, {"attn1.to_k.", "self_attn.k."}, {"attn1.to_v.", "self_attn.v."}, {"attn1.to_out.0.", "self_attn.o."},
	{"attn1.norm_", "self_attn.norm_"},
	{"attn2.to_q.", "cross_attn.q."}, {"attn2.to_k.", "cross_attn.k."}, {"attn2.to_v.", "cross_attn.v."}, {"attn2.to_out.0.", "cross_attn.o."},
	{"attn2.add_k_proj.", "cross_attn.k_img."}, {"attn2.add_v_proj.", "cross_attn.v_img."}, {"attn2.norm_added_k.", "cross_attn.norm_k_img."},
	{"attn2.norm_", "cross_attn.norm_"},
	{"ffn.net.0.proj.", "ffn.0."}, {"ffn.net.2.", "ffn.2."}, {"norm2.", "norm3."}, {"scale_shift_table", "modulation"},
}

// renameDiT turns a name of diffusers' WanTransformer3DModel into the original one.
func renameDiT(name string) string {
	rest, ok := strings.CutPrefix(name, "blocks.")
	if !ok {
		return ditNames.rename(name)
	}
	number, rest, _ := strings.Cut(rest, ".")
	return "blocks." + number + "." + blockNames.rename(rest)
}

// pairs are beginnings of names and what takes their place.
type pairs []struct{ from, to string }

// rename replaces the first beginning that is there.
func (p pairs) rename(name string) string {
	for _, x := range p {
		if rest, ok := strings.CutPrefix(name, x.from); ok {
			return x.to + rest
		}
	}
	return name
}
