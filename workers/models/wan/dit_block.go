package wan

import (
	"math"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// block is one layer of a transformer.
type block struct {
	qkv                    linear // self-attention's, one below the other
	normQ, normK           kernels.Tensor
	out                    linear
	norm3Gain, norm3Shift  kernels.Tensor
	crossQ, crossK, crossV linear
	crossNormQ, crossNormK kernels.Tensor
	crossOut               linear
	up, down               linear
	// modulation is the block's own part of shift, scale and gate, [6 * dim], on the host.
	modulation []float32
	camera     *cameraBlock
	sight      *sightBlock // nil where no picture's features are read
}

// cameraBlock turns the camera's tokens into a scale and a shift of the block.
type cameraBlock struct{ layer1, layer2, scale, shift linear }

func (l *loader) block(name string, c weights.DiTConfig) block {
	d := c.Dim
	b := block{
		qkv:   l.linear(d, d, name+".self_attn.q", name+".self_attn.k", name+".self_attn.v"),
		normQ: l.vector(kernels.F32, name+".self_attn.norm_q.weight", d), normK: l.vector(kernels.F32, name+".self_attn.norm_k.weight", d),
		out:       l.linear(d, d, name+".self_attn.o"),
		norm3Gain: l.vector(kernels.F32, name+".norm3.weight", d), norm3Shift: l.vector(kernels.F32, name+".norm3.bias", d),
		crossQ: l.linear(d, d, name+".cross_attn.q"), crossK: l.linear(d, d, name+".cross_attn.k"), crossV: l.linear(d, d, name+".cross_attn.v"),
		crossNormQ: l.vector(kernels.F32, name+".cross_attn.norm_q.weight", d), crossNormK: l.vector(kernels.F32, name+".cross_attn.norm_k.weight", d),
		crossOut: l.linear(d, d, name+".cross_attn.o"),
		up:       l.linear(c.FFN, d, name+".ffn.0"), down: l.linear(d, c.FFN, name+".ffn.2"),
		modulation: l.floats(name+".modulation", 1, modulations, d),
	}
	if c.Control != weights.NoControl {
		b.camera = &cameraBlock{
			layer1: l.linear(d, d, name+".cam_injector_layer1"), layer2: l.linear(d, d, name+".cam_injector_layer2"),
			scale: l.linear(d, d, name+".cam_scale_layer"), shift: l.linear(d, d, name+".cam_shift_layer"),
		}
	}
	if c.Image > 0 {
		b.sight = l.sightBlock(name, d)
	}
	return b
}

// The parts of a block's modulation, in the order of the file.
const (
	shiftAttention = iota
	scaleAttention
	gateAttention
	shiftFFN
	scaleFFN
	gateFFN
	modulations
)

// layerNormEps is that of all layer norms and of the norms of queries and keys.
const layerNormEps = 1e-6

// run brings the tokens of a step through the block.
func (b *block) run(s *step, layer int) {
	c := s.dit.cfg
	d, w, keys := c.Dim, s.dit.work, s.cache.layers[layer]
	part := func(i int) modulation {
		return func(at int) kernels.Tensor { return s.times.part(at, layer, i) }
	}
	s.modulate(part(scaleAttention), part(shiftAttention))
	s.run(kernels.Gemm{A: w.a, B: b.qkv.w, Bias: b.qkv.b, D: w.qkv})
	s.rotate(w.qkv.Columns(d, 2*d), b.normK, keys.k, true)
	s.run(kernels.StoreValues{X: w.qkv.Columns(2*d, 3*d), State: w.ring, Y: keys.v, Factor: 1})
	if s.onlyKeys && layer == c.Layers-1 {
		return
	}
	s.rotate(w.qkv.Columns(0, d), b.normQ, w.q, false)
	s.run(kernels.Attention{Q: w.q, K: keys.k, V: keys.v, O: w.a, Keys: s.cache.keys, Scale: attentionScale(), ValueScale: 1})
	s.add(w.a, b.out, part(gateAttention))
	if b.camera != nil {
		s.run(kernels.ScaleShift{X: w.x, S: w.scale[layer], T: w.shift[layer]})
	}
	s.run(kernels.LayerNorm{X: w.x, Y: w.a, Gain: b.norm3Gain, Shift: b.norm3Shift, Eps: layerNormEps})
	s.run(kernels.Gemm{A: w.a, B: b.crossQ.w, Bias: b.crossQ.b, D: w.q})
	s.dit.normOnly(&s.runner, w.q, b.crossNormQ, w.q)
	s.run(kernels.Attention{Q: w.q, K: s.text.layers[layer].k, V: s.text.layers[layer].v, O: w.a, Keys: c.TextLen, Scale: attentionScale(), ValueScale: 1})
	if b.sight != nil {
		b.see(s, layer)
	}
	s.run(kernels.Gemm{A: w.a, B: b.crossOut.w, Bias: b.crossOut.b, Residual: w.x, D: w.x})
	s.modulate(part(scaleFFN), part(shiftFFN))
	s.run(kernels.Gemm{A: w.a, B: b.up.w, Bias: b.up.b, F: kernels.GELU, D: w.wide})
	s.add(w.wide, b.down, part(gateFFN))
}

func attentionScale() float32 { return float32(1 / math.Sqrt(kernels.HeadDim)) }
