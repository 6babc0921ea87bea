package wan

import (
	"fmt"

	"telefuser/workers/kernels"
)

// pictureTokensMax are those of a picture of 224 x 224 in patches of 14, and the one in front of them.
const pictureTokensMax = 16*16 + 1

// pictureNormEps is that of the norms around a picture's features; those of the blocks have another.
const pictureNormEps = 1e-5

// sightProjection makes a picture's features those of the transformer: norm, linear, exact GELU, linear, norm.
type sightProjection struct {
	normIn, shiftIn   kernels.Tensor
	in, out           linear
	normOut, shiftOut kernels.Tensor
}

// sightBlock is a block's keys and values of a picture's features.
type sightBlock struct {
	k, v  linear
	normK kernels.Tensor
}

// sightWork is the work space for a picture's features.
type sightWork struct {
	features, wide kernels.Tensor // f32
	normed, hidden kernels.Tensor
	context, raw   kernels.Tensor
}

func (l *loader) sightProjection(image, dim int) sightProjection {
	return sightProjection{
		normIn: l.vector(kernels.F32, "img_emb.proj.0.weight", image), shiftIn: l.vector(kernels.F32, "img_emb.proj.0.bias", image),
		in: l.linear(image, image, "img_emb.proj.1"), out: l.linear(dim, image, "img_emb.proj.3"),
		normOut: l.vector(kernels.F32, "img_emb.proj.4.weight", dim), shiftOut: l.vector(kernels.F32, "img_emb.proj.4.bias", dim),
	}
}

func (l *loader) sightBlock(name string, dim int) *sightBlock {
	return &sightBlock{
		k: l.linear(dim, dim, name+".cross_attn.k_img"), v: l.linear(dim, dim, name+".cross_attn.v_img"),
		normK: l.vector(kernels.F32, name+".cross_attn.norm_k_img.weight", dim),
	}
}

// Sight are the keys and values that a picture's features have in every layer, which reads them beside the text's.
type Sight struct {
	layers []keysValues
	tokens int
}

// NewSight reads an image encoder's features [tokens, image width] into new keys and values. It fails with ErrInput where the transformer reads none,
// or none of that width, or more than 257 tokens.
func (m *DiT) NewSight(features []float32) (*Sight, error) {
	c := m.cfg
	if c.Image == 0 || len(features) == 0 || len(features)%c.Image != 0 || len(features)/c.Image > pictureTokensMax {
		return nil, fmt.Errorf("%w: %d numbers of a picture's features, want at most %dx%d", ErrInput, len(features), pictureTokensMax, c.Image)
	}
	n, p, r := len(features)/c.Image, m.sight, &runner{backend: m.backend}
	w := m.work.sight.rows(n)
	r.write(w.features, features)
	r.run(kernels.LayerNorm{X: w.features, Y: w.normed, Gain: p.normIn, Shift: p.shiftIn, Eps: pictureNormEps})
	r.run(kernels.Gemm{A: w.normed, B: p.in.w, Bias: p.in.b, D: w.hidden})
	r.run(kernels.Activation{X: w.hidden, Y: w.hidden, F: kernels.ExactGELU})
	r.run(kernels.Gemm{A: w.hidden, B: p.out.w, Bias: p.out.b, D: w.wide})
	r.run(kernels.LayerNorm{X: w.wide, Y: w.context, Gain: p.normOut, Shift: p.shiftOut, Eps: pictureNormEps})
	s := &Sight{tokens: n}
	for i := range m.blocks {
		b := m.blocks[i].sight
		kv := keysValues{k: r.fresh(m.act, nil, n, c.Dim), v: r.fresh(m.act, nil, n, c.Dim)}
		r.run(kernels.Gemm{A: w.context, B: b.k.w, Bias: b.k.b, D: w.raw})
		m.normOnly(r, w.raw, b.normK, kv.k)
		r.run(kernels.Gemm{A: w.context, B: b.v.w, Bias: b.v.b, D: kv.v})
		s.layers = append(s.layers, kv)
	}
	if r.err != nil {
		return nil, fmt.Errorf("wan: picture: %w", r.err)
	}
	return s, nil
}

// rows is the work space for so many tokens.
func (w sightWork) rows(n int) sightWork {
	for _, x := range []*kernels.Tensor{&w.features, &w.wide, &w.normed, &w.hidden, &w.context, &w.raw} {
		*x = x.Rows(0, n)
	}
	return w
}

// see adds what the queries q find in the picture to what they found in the text, a. The work space of self-attention is free by then.
func (b *block) see(s *step, layer int) {
	w, d, kv := s.dit.work, s.dit.cfg.Dim, s.sight.layers[layer]
	found := w.qkv.Columns(0, d)
	s.run(kernels.Attention{Q: w.q, K: kv.k, V: kv.v, O: found, Keys: s.sight.tokens, Scale: attentionScale(), ValueScale: 1})
	s.run(kernels.GateResidual{X: w.a, Y: found})
}

// See says what the video's picture looks like, by an image encoder's features [tokens, image width]. It must be there before Walk where the model
// reads such.
func (t *Take) See(features []float32) error {
	t.sights = nil
	for _, m := range t.film.dits {
		s, err := m.NewSight(features)
		if err != nil {
			return err
		}
		t.sights = append(t.sights, s)
	}
	return nil
}

// guide is all that leads one of the transformers.
func (t *Take) guide(i int) Guide {
	g := t.guides[i]
	if t.sights != nil {
		g.Sight = t.sights[i]
	}
	return g
}
