package weights

import (
	"fmt"
	"math"
	"strings"
)

// UMT5Config is the shape of a UMT5 text encoder.
type UMT5Config struct {
	Vocabulary, Dim, Heads, HeadDim, FFN, Layers int
	// Buckets are those of relative positions; from Distance on, all positions share the last.
	Buckets, Distance int
	Eps               float64
}

// Limits of a text encoder's dimensions.
const (
	vocabularyMax = 1 << 20
	bucketsMax    = 512
)

// UMT5XXL is the encoder of Wan and LingBot-World, whose original file has no configuration.
func UMT5XXL() UMT5Config {
	return UMT5Config{
		Vocabulary: 256384, Dim: 4096, Heads: 64, HeadDim: 64, FFN: 10240, Layers: 24, Buckets: 32, Distance: 128, Eps: 1e-6,
	}
}

// UMT5 reads a text encoder's shape in the words of UMT5EncoderModel. The error wraps ErrConfig.
func (c Config) UMT5() (UMT5Config, error) {
	r := &reader{Config: c}
	u := UMT5Config{
		Vocabulary: r.integer(1, vocabularyMax, 0, "vocab_size"),
		Dim:        r.integer(8, dimMax, 0, "d_model"),
		Heads:      r.integer(1, headsMax, 0, "num_heads"),
		HeadDim:    r.integer(1, 1024, 0, "d_kv"),
		FFN:        r.integer(8, ffnMax, 0, "d_ff"),
		Layers:     r.integer(1, layersMax, 0, "num_layers"),
		Buckets:    r.integer(4, bucketsMax, 32, "relative_attention_num_buckets"),
		Distance:   r.integer(4, 1<<20, 128, "relative_attention_max_distance"),
		Eps:        r.number(1e-12, 1e-2, 1e-6, "layer_norm_epsilon"),
	}
	r.want("feed_forward_proj", `"gated-gelu"`)
	if u.Buckets%4 != 0 {
		r.fail("relative_attention_num_buckets is %d; half of them are for each side, and half of those for single positions", u.Buckets)
	}
	if u.Distance <= u.Buckets/4 {
		r.fail("relative_attention_max_distance is %d with %d buckets", u.Distance, u.Buckets)
	}
	return u, r.err
}

// Blueprint lists the encoder's parameters by the names of Wan's checkpoint.
func (u UMT5Config) Blueprint() Blueprint {
	l, inner := &list{}, u.Heads*u.HeadDim
	l.table("token_embedding.weight", 1, u.Vocabulary, u.Dim)
	for i := range u.Layers {
		at := fmt.Sprintf("blocks.%d.", i)
		l.gain(at+"norm1.weight", u.Dim)
		l.table(at+"attn.q.weight", 1/math.Sqrt(float64(u.Dim*u.HeadDim)), inner, u.Dim) // scores are not scaled
		l.weight(at+"attn.k", inner, u.Dim)
		l.weight(at+"attn.v", inner, u.Dim)
		l.weight(at+"attn.o", u.Dim, inner)
		l.gain(at+"norm2.weight", u.Dim)
		l.weight(at+"ffn.gate.0", u.FFN, u.Dim)
		l.weight(at+"ffn.fc1", u.FFN, u.Dim)
		l.weight(at+"ffn.fc2", u.Dim, u.FFN)
		l.table(at+"pos_embedding.embedding.weight", 1, u.Buckets, u.Heads)
	}
	l.gain("norm.weight", u.Dim)
	return Blueprint{
		Model: "UMT5 encoder", Parameters: *l, Rename: renameUMT5,
		Spare: []string{"shared.weight", "encoder.embed_tokens.weight"},
	}
}

// umt5Names turn beginnings of names of the layout of transformers into Wan's.
var umt5Names = pairs{ //nolint:gochecknoglobals // constant table
	{"shared.", "token_embedding."}, {"encoder.embed_tokens.", "token_embedding."}, {"encoder.final_layer_norm.", "norm."},
}

// umt5BlockNames do so for what follows encoder.block.N.layer. in a name.
var umt5BlockNames = pairs{ //nolint:gochecknoglobals // constant table
	{"0.SelfAttention.relative_attention_bias.", "pos_embedding.embedding."}, {"0.SelfAttention.", "attn."},
	{"0.layer_norm.", "norm1."}, {"1.layer_norm.", "norm2."},
	{"1.DenseReluDense.wi_0.", "ffn.gate.0."}, {"1.DenseReluDense.wi_1.", "ffn.fc1."}, {"1.DenseReluDense.wo.", "ffn.fc2."},
}

// renameUMT5 turns a name of UMT5EncoderModel into Wan's.
func renameUMT5(name string) string {
	rest, ok := strings.CutPrefix(name, "encoder.block.")
	if !ok {
		return umt5Names.rename(name)
	}
	number, part, ok := strings.Cut(rest, ".layer.")
	if !ok {
		return name
	}
	return "blocks." + number + "." + umt5BlockNames.rename(part)
}
