package wan

import (
	"fmt"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// Decoder makes frames of latents.
type Decoder struct {
	half
	cfg           weights.VAEConfig
	height, width int // of the latents
	latents       int // of a chunk, at most
}

// NewDecoder reads a decoder and lays it out for latents of height x width in chunks of so many frames. The type of activations is f32 or bf16.
func NewDecoder(b kernels.Backend, w *weights.Set, c weights.VAEConfig, act kernels.DType, latents, height, width int) (*Decoder, error) {
	d, err := ReadDecoder(b, w, c, act)
	if err != nil {
		return nil, err
	}
	return d, d.Lay(latents, height, width)
}

// ReadDecoder reads a decoder. It can do nothing before Lay.
func ReadDecoder(b kernels.Backend, w *weights.Set, c weights.VAEConfig, act kernels.DType) (*Decoder, error) {
	if err := errorsFirst(checkVAE(c), checkType(act)); err != nil {
		return nil, err
	}
	l := &loader{backend: b, weights: w, act: act}
	d := &Decoder{half: half{backend: b, act: act, pictures: true}, cfg: c}
	d.layers = l.decoder(c)
	if l.err != nil {
		return nil, fmt.Errorf("wan: decoder: %w", l.err)
	}
	return d, nil
}

// Lay takes the work space for a size. States of another size must not be used any more.
func (d *Decoder) Lay(latents, height, width int) error {
	if latents < 1 || height < 1 || width < 1 {
		return fmt.Errorf("%w: %d latents of %dx%d", ErrConfig, latents, width, height)
	}
	d.height, d.width, d.latents = height, width, latents
	return d.lay(latents, latents, height, width, d.cfg.Z)
}

// decoder lists the layers. The latents' mean and deviation ride in the first convolution.
func (l *loader) decoder(c weights.VAEConfig) []layer {
	mean, std := l.normal(c)
	w, b := l.floats("conv2.weight", c.Z, c.Z, 1, 1, 1), l.floats("conv2.bias", c.Z)
	scaled, shifted := make([]float32, len(w)), make([]float32, len(b))
	for o := range c.Z {
		sum := float64(b[o])
		for i := range c.Z {
			scaled[o*c.Z+i] = w[o*c.Z+i] * std[i]
			sum += float64(w[o*c.Z+i]) * float64(mean[i])
		}
		shifted[o] = float32(sum)
	}
	last := len(c.TimeHalved)
	_, top := c.Widths(last)
	layers := []layer{
		pointConv{l.convOf(scaled, shifted, c.Z, c.Z, []int{1, 1, 1})},
		causalConv{l.conv("decoder.conv1", top, c.Z, 3, 3, 3)},
		l.resBlock("decoder.middle.0", top, top), l.attention("decoder.middle.1", top), l.resBlock("decoder.middle.2", top, top),
	}
	in := top
	for i := range c.Multiples {
		layers = append(layers, l.upLevel(c, i, in)...)
		_, in = c.Widths(last - i)
		if i < last && !c.Residual {
			in /= 2 // by the convolution after the doubling
		}
	}
	layers = append(layers, l.pictureOut("decoder.head", c, in))
	if c.Fold() > 1 {
		layers = append(layers, unfold{c.Fold()})
	}
	return layers
}

// upLevel lists the layers of a level of the decoder, which begins with so many channels.
func (l *loader) upLevel(c weights.VAEConfig, i, in int) []layer {
	const row = "decoder.upsamples"
	last := len(c.TimeHalved)
	_, out := c.Widths(last - i)
	var inside []layer
	for at := range c.ResBlocks + 1 {
		inside = append(inside, l.resBlock(c.Layer(row, i, at), in, out))
		in = out
	}
	if i == last {
		return inside
	}
	time, made, frames := c.TimeHalved[last-1-i], out/2, 1
	if time {
		frames = 2
	}
	if c.Residual {
		made = out
	}
	inside = append(inside, l.upsample(c.Layer(row, i, c.ResBlocks+1), out, made, time))
	if c.Residual {
		return []layer{level{repeatUp{out, frames}, inside}}
	}
	return inside
}

// Decode makes the frames of a chunk of latents [T, height, width, Z], normalised as the transformer has them. It answers rows of RGB in
// -1..1, [frames, height * stride, width * stride, 3]; the first chunk's first latent gives one frame, every other one four.
func (d *Decoder) Decode(s *VAEState, latents []float32) ([]float32, error) {
	p, err := d.decode(s, latents)
	if err != nil {
		return nil, err
	}
	return p.channels(3)
}

// Frames is Decode that answers the frames as I420 planes (see kernels.I420), one frame after the other.
func (d *Decoder) Frames(s *VAEState, latents []float32) ([]byte, error) {
	p, err := d.decode(s, latents)
	if err != nil {
		return nil, err
	}
	out := d.planes.Rows(0, p.x.Dim(0))
	p.run(kernels.I420{X: p.x, Y: out, Interleaved: true})
	planes := make([]byte, out.Span())
	if p.err == nil {
		p.err = d.backend.Read(planes, out)
	}
	if p.err != nil {
		return nil, fmt.Errorf("wan: frames: %w", p.err)
	}
	return planes, nil
}

// decode leaves the frames in the work space.
func (d *Decoder) decode(s *VAEState, latents []float32) (*vaePass, error) {
	one := d.height * d.width * d.cfg.Z
	t := len(latents) / one
	if t < 1 || t > d.latents || len(latents)%one != 0 {
		return nil, fmt.Errorf("%w: %d numbers are no chunk of latents", ErrInput, len(latents))
	}
	p := d.pass(s)
	p.x = p.take(p.current, t, d.height, d.width, d.cfg.Z)
	p.write(p.x, latents)
	if err := d.through(p); err != nil {
		return nil, err
	}
	s.chunks++
	return p, nil
}
