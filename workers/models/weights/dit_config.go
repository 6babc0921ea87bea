package weights

import "strings"

// Control says how a DiT takes a camera.
type Control string

// The controls: none, Pluecker rays, or those and the keys that are held.
const (
	NoControl Control = ""
	Camera    Control = "cam"
	Action    Control = "act"
)

// DiTConfig is the shape of a Wan or LingBot-World transformer. Counts of channels are
// those of the patch embedding and of the head.
type DiTConfig struct {
	Dim, FFN, Layers, Heads int
	In, Out                 int
	Patch                   [3]int // frames, rows, columns
	TextDim, TextLen        int
	Freq                    int // of the sinusoids that encode a time step
	Image                   int // width of a picture's features in cross-attention, 0: none
	Control                 Control
	Local, Sink             int // frames of the attention window, -1: all; of them, those that stay
	Prompts                 int // rows of a table of texts in place of an encoder, 0: none
	Eps                     float64
}

// Limits of a DiT's dimensions.
const (
	dimMax, ffnMax, layersMax, headsMax = 16384, 131072, 128, 256
	channelsMax, patchMax               = 1024, 8
	textMax, framesMax                  = 4096, 4096
)

// PixelFold is the side of the squares of pixels that are folded into the channels of control.
const PixelFold = 8

// ControlChannels is the number of values of a pixel's control: 6 of its ray, and one for the keys.
func (c Control) ControlChannels() int {
	switch c {
	case Camera:
		return 6
	case Action:
		return 7
	default:
		return 0
	}
}

// TinyDiT is the transformer of tiny-world, whose folder needs no config.json.
func TinyDiT() DiTConfig {
	return DiTConfig{
		Dim: 256, FFN: 768, Layers: 6, Heads: 2, In: 36, Out: 16, Patch: [3]int{1, 2, 2}, TextDim: 64, TextLen: 8,
		Freq: 256, Control: Camera, Local: 16, Sink: 4, Prompts: 9, Eps: 1e-6,
	}
}

// DiT reads a transformer's shape, in the words of the original checkpoints or of diffusers.
// The error wraps ErrConfig.
func (c Config) DiT() (DiTConfig, error) {
	r := &reader{Config: c}
	d := DiTConfig{
		FFN:    r.integer(16, ffnMax, 0, "ffn_dim"),
		Layers: r.integer(1, layersMax, 0, "num_layers"),
		Heads:  r.integer(1, headsMax, 0, "num_heads", "num_attention_heads"),
		In:     r.integer(1, channelsMax, 0, "in_dim", "in_channels"),
		Out:    r.integer(1, channelsMax, 0, "out_dim", "out_channels"),
		// LingBot's files leave these four out.
		TextDim: r.integer(8, dimMax, 4096, "text_dim"),
		TextLen: r.integer(1, textMax, 512, "text_len"),
		Freq:    r.integer(2, dimMax, 256, "freq_dim"),
		Eps:     r.number(1e-12, 1e-2, 1e-6, "eps"),
		Image:   r.integer(0, dimMax, 0, "image_dim"),
		Local:   r.integer(-1, framesMax, -1, "local_attn_size"),
		Sink:    r.integer(0, framesMax, 0, "sink_size"),
		Prompts: r.integer(0, textMax, 0, "prompts"),
	}
	if headDim := r.integer(0, dimMax, 0, "attention_head_dim"); headDim > 0 {
		d.Dim = r.integer(16, dimMax, headDim*d.Heads, "dim")
	} else {
		d.Dim = r.integer(16, dimMax, 0, "dim")
	}
	for i, p := range values(r, 3, 3, []int{1, 2, 2}, "patch_size") {
		if d.Patch[i] = p; p < 1 || p > patchMax {
			r.fail("patch_size holds %d; it goes from 1 to %d", p, patchMax)
		}
	}
	d.Control = c.control(r)
	r.want("qk_norm", "true", `"rms_norm_across_heads"`)
	r.want("cross_attn_norm", "true")
	r.want("pos_embed_seq_len")
	if d.Freq%2 != 0 {
		r.fail("freq_dim is %d; it is a number of sines and as many cosines", d.Freq)
	}
	if d.Local >= 0 && d.Sink >= d.Local {
		r.fail("sink_size is %d in a window of %d frames", d.Sink, d.Local)
	}
	if d.Dim%d.Heads != 0 || d.Dim/d.Heads%2 != 0 {
		r.fail("%d heads do not share %d channels in pairs", d.Heads, d.Dim)
	}
	return d, r.err
}

// control is what the file says, or what LingBot's causal models always have.
func (c Config) control(r *reader) Control {
	absent := ""
	if class := c.Class(); strings.HasPrefix(class, "WanModelCausal") || strings.HasPrefix(class, "WanModelFast") {
		absent = string(Camera)
	}
	switch v := Control(r.text(absent, "control_type")); v {
	case NoControl, Camera, Action:
		return v
	default:
		r.fail("control_type is %.40q; cam and act are known", v)
		return NoControl
	}
}

// imageMark is the tensor that tells Wan 2.1's picture-to-video transformers, whose
// configuration says nothing of the picture's features.
const imageMark = "img_emb.proj.0.weight"

// Observe completes the shape with what only the tensors of a checkpoint tell.
func (d DiTConfig) Observe(c *Checkpoint) DiTConfig {
	if shape, ok := c.Shape(imageMark); ok && len(shape) == 1 && shape[0] <= dimMax {
		d.Image = shape[0]
	}
	return d
}
