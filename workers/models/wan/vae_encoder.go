package wan

import (
	"fmt"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// Encoder makes latents of frames.
type Encoder struct {
	half
	cfg           weights.VAEConfig
	height, width int // of the frames
	frames        int // of a chunk, at most
}

// NewEncoder reads an encoder and lays it out for frames of height x width in chunks of so many latent frames.
func NewEncoder(b kernels.Backend, w *weights.Set, c weights.VAEConfig, act kernels.DType, latents, height, width int) (*Encoder, error) {
	e, err := ReadEncoder(b, w, c, act)
	if err != nil {
		return nil, err
	}
	return e, e.Lay(latents, height, width)
}

// ReadEncoder reads an encoder. It can do nothing before Lay.
func ReadEncoder(b kernels.Backend, w *weights.Set, c weights.VAEConfig, act kernels.DType) (*Encoder, error) {
	if err := errorsFirst(checkVAE(c), checkType(act)); err != nil {
		return nil, err
	}
	l := &loader{backend: b, weights: w, act: act}
	e := &Encoder{half: half{backend: b, act: act}, cfg: c}
	e.layers = l.encoder(c)
	if l.err != nil {
		return nil, fmt.Errorf("wan: encoder: %w", l.err)
	}
	return e, nil
}

// Lay takes the work space for a size. States of another size must not be used any more.
func (e *Encoder) Lay(latents, height, width int) error {
	stride, frames := Stride(e.cfg), Frames(e.cfg)
	if latents < 1 || height < stride || width < stride || height%stride != 0 || width%stride != 0 {
		return fmt.Errorf("%w: %d latents of %dx%d", ErrConfig, latents, width, height)
	}
	e.height, e.width, e.frames = height, width, frames*latents
	fold := e.cfg.Fold()
	return e.lay(1+frames*(latents-1), frames*latents, height/fold, width/fold, foldedChannels(fold))
}

// encoder lists the layers. What normalises the latents rides in the last convolution, which makes their means only.
func (l *loader) encoder(c weights.VAEConfig) []layer {
	const row = "encoder.downsamples"
	layers, in := []layer{causalConv{l.pictureIn("encoder.conv1", c)}}, c.Base
	for i := range c.Multiples {
		before, halved := in, i < len(c.TimeHalved)
		out, _ := c.Widths(i)
		var inside []layer
		for at := range c.ResBlocks {
			inside = append(inside, l.resBlock(c.Layer(row, i, at), in, out))
			in = out
		}
		if halved {
			inside = append(inside, l.downsample(c.Layer(row, i, c.ResBlocks), out, c.TimeHalved[i]))
		}
		if c.Residual {
			inside = []layer{level{l.meanDown(before, out, halved && c.TimeHalved[i], halved), inside}}
		}
		layers = append(layers, inside...)
	}
	layers = append(layers, l.resBlock("encoder.middle.0", in, in), l.attention("encoder.middle.1", in), l.resBlock("encoder.middle.2", in, in),
		l.head("encoder.head", in, 2*c.Z))
	mean, std := l.normal(c)
	w, b := l.floats("conv1.weight", 2*c.Z, 2*c.Z, 1, 1, 1), l.floats("conv1.bias", 2*c.Z)
	scaled, shifted := make([]float32, c.Z*2*c.Z), make([]float32, c.Z)
	for o := range c.Z {
		for i := range 2 * c.Z {
			scaled[o*2*c.Z+i] = w[o*2*c.Z+i] / std[o]
		}
		shifted[o] = (b[o] - mean[o]) / std[o]
	}
	return append(layers, pointConv{l.convOf(scaled, shifted, c.Z, 2*c.Z, []int{1, 1, 1})})
}

// Encode makes the latents of a chunk of frames, rows of RGB in -1..1, [T, height, width, 3]: the first chunk has 4n+1 frames, later
// ones 4n. The latents [n, height / stride, width / stride, Z] are normalised as the transformer wants them.
func (e *Encoder) Encode(s *VAEState, frames []float32) ([]float32, error) {
	picture := e.height * e.width * 3
	t, single := len(frames)/picture, 0
	if s.chunks == 0 {
		single = 1
	}
	if t < 1 || len(frames)%picture != 0 || (t-single)%Frames(e.cfg) != 0 || t > e.frames {
		return nil, fmt.Errorf("%w: %d numbers are no chunk of frames", ErrInput, len(frames))
	}
	p := e.pass(s)
	fold := e.cfg.Fold()
	p.x = p.take(p.current, t, e.height/fold, e.width/fold, foldedChannels(fold))
	if p.err == nil {
		p.err = e.backend.Write(p.x, encodePixels(e.act, frames, e.width, fold))
	}
	if err := e.through(p); err != nil {
		return nil, err
	}
	s.chunks++
	return p.channels(e.cfg.Z)
}
