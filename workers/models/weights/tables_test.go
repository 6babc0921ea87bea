package weights_test

import "fmt"

// ditTable has two blocks of a picture-to-video transformer.
func ditTable() map[string]string {
	m := map[string]string{"scale_shift_table": "head.modulation"}
	both := func(theirs, ours string) { m[theirs+".weight"], m[theirs+".bias"] = ours+".weight", ours+".bias" }
	both("patch_embedding", "patch_embedding")
	both("condition_embedder.text_embedder.linear_1", "text_embedding.0")
	both("condition_embedder.text_embedder.linear_2", "text_embedding.2")
	both("condition_embedder.time_embedder.linear_1", "time_embedding.0")
	both("condition_embedder.time_embedder.linear_2", "time_embedding.2")
	both("condition_embedder.time_proj", "time_projection.1")
	both("condition_embedder.image_embedder.norm1", "img_emb.proj.0")
	both("condition_embedder.image_embedder.ff.net.0.proj", "img_emb.proj.1")
	both("condition_embedder.image_embedder.ff.net.2", "img_emb.proj.3")
	both("condition_embedder.image_embedder.norm2", "img_emb.proj.4")
	both("proj_out", "head.head")
	for i := range 2 {
		b := fmt.Sprintf("blocks.%d.", i)
		m[b+"scale_shift_table"] = b + "modulation"
		for theirs, ours := range map[string]string{"attn1": "self_attn", "attn2": "cross_attn"} {
			both(b+theirs+".to_q", b+ours+".q")
			both(b+theirs+".to_k", b+ours+".k")
			both(b+theirs+".to_v", b+ours+".v")
			both(b+theirs+".to_out.0", b+ours+".o")
			m[b+theirs+".norm_q.weight"] = b + ours + ".norm_q.weight"
			m[b+theirs+".norm_k.weight"] = b + ours + ".norm_k.weight"
		}
		both(b+"attn2.add_k_proj", b+"cross_attn.k_img")
		both(b+"attn2.add_v_proj", b+"cross_attn.v_img")
		m[b+"attn2.norm_added_k.weight"] = b + "cross_attn.norm_k_img.weight"
		both(b+"norm2", b+"norm3")
		both(b+"ffn.net.0.proj", b+"ffn.0")
		both(b+"ffn.net.2", b+"ffn.2")
	}
	return m
}

// vaeNames is a table of a VAE's names.
type vaeNames map[string]string

func (m vaeNames) both(theirs, ours string) {
	m[theirs+".weight"], m[theirs+".bias"] = ours+".weight", ours+".bias"
}

func (m vaeNames) block(theirs, ours string, shortcut bool) {
	m[theirs+".norm1.gamma"], m[theirs+".norm2.gamma"] = ours+".residual.0.gamma", ours+".residual.3.gamma"
	m.both(theirs+".conv1", ours+".residual.2")
	m.both(theirs+".conv2", ours+".residual.6")
	if shortcut {
		m.both(theirs+".conv_shortcut", ours+".shortcut")
	}
}

// ends are the names of both VAEs outside of their levels.
func (m vaeNames) ends() {
	both, block := m.both, m.block
	both("quant_conv", "conv1")
	both("post_quant_conv", "conv2")
	for _, side := range []string{"encoder.", "decoder."} {
		both(side+"conv_in", side+"conv1")
		both(side+"conv_out", side+"head.2")
		m[side+"norm_out.gamma"] = side + "head.0.gamma"
		block(side+"mid_block.resnets.0", side+"middle.0", false)
		block(side+"mid_block.resnets.1", side+"middle.2", false)
		m[side+"mid_block.attentions.0.norm.gamma"] = side + "middle.1.norm.gamma"
		both(side+"mid_block.attentions.0.to_qkv", side+"middle.1.to_qkv")
		both(side+"mid_block.attentions.0.proj", side+"middle.1.proj")
	}
}

// vae22Table has all of Wan 2.2's VAE.
func vae22Table() map[string]string {
	m := vaeNames{}
	m.ends()
	for level := range 4 {
		for r := range 2 {
			m.block(fmt.Sprintf("encoder.down_blocks.%d.resnets.%d", level, r), fmt.Sprintf("encoder.downsamples.%d.downsamples.%d", level, r), r == 0 && (level == 1 || level == 2))
		}
		for r := range 3 {
			m.block(fmt.Sprintf("decoder.up_blocks.%d.resnets.%d", level, r), fmt.Sprintf("decoder.upsamples.%d.upsamples.%d", level, r), r == 0 && level >= 2)
		}
		if level == 3 {
			break
		}
		down, downHere := fmt.Sprintf("encoder.down_blocks.%d.downsampler", level), fmt.Sprintf("encoder.downsamples.%d.downsamples.2", level)
		up, upHere := fmt.Sprintf("decoder.up_blocks.%d.upsampler", level), fmt.Sprintf("decoder.upsamples.%d.upsamples.3", level)
		m.both(down+".resample.1", downHere+".resample.1")
		m.both(up+".resample.1", upHere+".resample.1")
		if level > 0 {
			m.both(down+".time_conv", downHere+".time_conv")
		}
		if level < 2 {
			m.both(up+".time_conv", upHere+".time_conv")
		}
	}
	return m
}

// vaeTable has all of Wan 2.1's VAE.
func vaeTable() map[string]string {
	m := vaeNames{}
	m.ends()
	both, block := m.both, m.block
	for i := range 11 {
		theirs, ours := fmt.Sprintf("encoder.down_blocks.%d", i), fmt.Sprintf("encoder.downsamples.%d", i)
		switch i {
		case 2, 5, 8:
			both(theirs+".resample.1", ours+".resample.1")
			if i > 2 {
				both(theirs+".time_conv", ours+".time_conv")
			}
		default:
			block(theirs, ours, i == 3 || i == 6)
		}
	}
	for level := range 4 {
		for r := range 3 {
			block(fmt.Sprintf("decoder.up_blocks.%d.resnets.%d", level, r), fmt.Sprintf("decoder.upsamples.%d", 4*level+r), level == 1 && r == 0)
		}
		if level < 3 {
			theirs, ours := fmt.Sprintf("decoder.up_blocks.%d.upsamplers.0", level), fmt.Sprintf("decoder.upsamples.%d", 4*level+3)
			both(theirs+".resample.1", ours+".resample.1")
			if level < 2 {
				both(theirs+".time_conv", ours+".time_conv")
			}
		}
	}
	return m
}

// umt5Table has two blocks of an encoder.
func umt5Table() map[string]string {
	m := map[string]string{"shared.weight": "token_embedding.weight", "encoder.final_layer_norm.weight": "norm.weight"}
	for i := range 2 {
		theirs, ours := fmt.Sprintf("encoder.block.%d.layer.", i), fmt.Sprintf("blocks.%d.", i)
		for _, part := range []string{"q", "k", "v", "o"} {
			m[theirs+"0.SelfAttention."+part+".weight"] = ours + "attn." + part + ".weight"
		}
		m[theirs+"0.SelfAttention.relative_attention_bias.weight"] = ours + "pos_embedding.embedding.weight"
		m[theirs+"0.layer_norm.weight"] = ours + "norm1.weight"
		m[theirs+"1.layer_norm.weight"] = ours + "norm2.weight"
		m[theirs+"1.DenseReluDense.wi_0.weight"] = ours + "ffn.gate.0.weight"
		m[theirs+"1.DenseReluDense.wi_1.weight"] = ours + "ffn.fc1.weight"
		m[theirs+"1.DenseReluDense.wo.weight"] = ours + "ffn.fc2.weight"
	}
	return m
}

// clipTable has two layers of an image encoder.
func clipTable() map[string]string {
	m := map[string]string{
		"vision_model.embeddings.class_embedding": "visual.cls_embedding", "vision_model.embeddings.position_embedding.weight": "visual.pos_embedding",
		"vision_model.embeddings.patch_embedding.weight": "visual.patch_embedding.weight",
	}
	both := func(theirs, ours string) {
		m["vision_model."+theirs+".weight"], m["vision_model."+theirs+".bias"] = "visual."+ours+".weight", "visual."+ours+".bias"
	}
	both("pre_layrnorm", "pre_norm")
	both("post_layernorm", "post_norm")
	for i := range 2 {
		theirs, ours := fmt.Sprintf("encoder.layers.%d.", i), fmt.Sprintf("transformer.%d.", i)
		both(theirs+"self_attn.q_proj", ours+"attn.q")
		both(theirs+"self_attn.k_proj", ours+"attn.k")
		both(theirs+"self_attn.v_proj", ours+"attn.v")
		both(theirs+"self_attn.out_proj", ours+"attn.proj")
		both(theirs+"layer_norm1", ours+"norm1")
		both(theirs+"layer_norm2", ours+"norm2")
		both(theirs+"mlp.fc1", ours+"mlp.0")
		both(theirs+"mlp.fc2", ours+"mlp.2")
	}
	return m
}
