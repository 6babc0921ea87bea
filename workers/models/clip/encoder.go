package clip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"telefuser/workers/kernels"
	"telefuser/workers/media"
	"telefuser/workers/models/weights"
)

// sideStep divides the sides of all matrices.
const sideStep = 16

// roundUp is the next multiple of sideStep.
func roundUp(n int) int { return (n + sideStep - 1) / sideStep * sideStep }

// Encoder is the image encoder of a CLIP on a backend, whose memory it takes for good.
type Encoder struct {
	config  weights.CLIPConfig
	backend kernels.Backend
	act     kernels.DType
	mu      sync.Mutex     // one picture at a time
	patches kernels.Tensor // [dim, patch pixels], whose channels come first; zeros up to whole steps
	places  kernels.Tensor // [tokens, dim] f32: what each token begins with
	norm    norm
	layers  []layer
	work    workspace
}

// workspace is the memory for a picture.
type workspace struct {
	pixels kernels.Tensor // [patches, patch pixels]
	x      kernels.Tensor // [tokens, dim] f32: the sum of all layers
	a      kernels.Tensor // [tokens, dim]: normed
	qkv    kernels.Tensor // [tokens, 3 * heads * 128]
	o      kernels.Tensor // [tokens, heads * 128]
	wide   kernels.Tensor // [tokens, ffn]
}

// NewEncoder reads all layers but the last, which nobody asks. The type of activations is f32 or bf16. The error wraps weights.ErrConfig where the shape
// is one that the operations cannot do, else it is the backend's or the set's.
func NewEncoder(b kernels.Backend, s *weights.Set, c weights.CLIPConfig, act kernels.DType) (*Encoder, error) {
	switch {
	case c.Dim%sideStep != 0 || c.FFN%sideStep != 0 || c.Heads < 1 || c.Dim%c.Heads != 0 || c.Dim/c.Heads > kernels.HeadDim || c.Dim/c.Heads%8 != 0:
		return nil, fmt.Errorf("clip: %w: %d heads share %d channels, with %d between", weights.ErrConfig, c.Heads, c.Dim, c.FFN)
	case c.Layers < 2 || c.Patch < 1 || c.Side < c.Patch || c.Side%c.Patch != 0:
		return nil, fmt.Errorf("clip: %w: %d layers, a picture of %d in patches of %d", weights.ErrConfig, c.Layers, c.Side, c.Patch)
	case act != kernels.F32 && act != kernels.BF16:
		return nil, fmt.Errorf("clip: %w: activations of %v", weights.ErrConfig, act)
	}
	e := &Encoder{config: c, backend: b, act: act}
	l := &loader{backend: b, set: s, act: act}
	e.patches = l.padded("visual.patch_embedding.weight", c.Dim, 1, e.pixels(), roundUp(e.pixels()))
	e.places = l.put(kernels.F32, e.starts(l), c.Tokens(), c.Dim)
	e.norm = l.norm("visual.pre_norm", c.Dim)
	for i := range c.Layers - 1 {
		e.layers = append(e.layers, l.layer(fmt.Sprintf("visual.transformer.%d.", i), c))
	}
	if l.err == nil {
		l.err = e.reserve()
	}
	if l.err != nil {
		return nil, fmt.Errorf("clip: %w", l.err)
	}
	return e, nil
}

// pixels are the numbers of a patch.
func (e *Encoder) pixels() int { return 3 * e.config.Patch * e.config.Patch }

// starts are the places' numbers, the first of them with the first token's own.
func (e *Encoder) starts(l *loader) []float32 {
	out := l.floats("visual.pos_embedding", e.config.Tokens()*e.config.Dim)
	for i, v := range l.floats("visual.cls_embedding", e.config.Dim) {
		out[i] += v
	}
	return out
}

// reserve takes the memory for a picture.
func (e *Encoder) reserve() error {
	c, n, inner := e.config, e.config.Tokens(), e.config.Heads*kernels.HeadDim
	var all []error
	take := func(t kernels.DType, shape ...int) kernels.Tensor {
		x, err := e.backend.New(t, shape...)
		all = append(all, err)
		return x
	}
	e.work = workspace{
		pixels: take(e.act, n-1, roundUp(e.pixels())), x: take(kernels.F32, n, c.Dim), a: take(e.act, n, c.Dim),
		qkv: take(e.act, n, 3*inner), o: take(e.act, n, inner), wide: take(e.act, n, c.FFN),
	}
	return errors.Join(all...)
}

// Dim is the width of a picture's features, Tokens how many rows they have.
func (e *Encoder) Dim() int { return e.config.Dim }

// Tokens are told of above.
func (e *Encoder) Tokens() int { return e.config.Tokens() }

// Encode gives the features of a picture of any size, [tokens, dim] in one row after the other. The error wraps ErrPicture where there is none, else it
// is the backend's.
func (e *Encoder) Encode(picture media.Image) ([]float32, error) {
	if picture.Width < 1 || picture.Height < 1 || len(picture.RGB) != 3*picture.Width*picture.Height {
		return nil, fmt.Errorf("%w: %d bytes for %dx%d", ErrPicture, len(picture.RGB), picture.Width, picture.Height)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	w, r := e.work, &runner{backend: e.backend}
	r.write(w.pixels, cut(look(picture, e.config.Side), e.config.Side, e.config.Patch, w.pixels.Dim(1)))
	r.section(func() {
		e.embed(r)
		for i := range e.layers {
			e.block(r, &e.layers[i])
		}
	})
	if r.err != nil {
		return nil, fmt.Errorf("clip: %w", r.err)
	}
	data := make([]byte, w.x.Span())
	if err := e.backend.Read(data, w.x); err != nil {
		return nil, fmt.Errorf("clip: %w", err)
	}
	out := make([]float32, w.x.Len())
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out, nil
}
