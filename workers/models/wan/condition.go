package wan

import (
	"fmt"

	"telefuser/workers/models/weights"
)

// Conditioner makes the condition of each chunk of a video that begins with a picture: the latents of the picture and of grey frames
// after it, and a mask that says which frame is given. The encoder's memory ends, so its latents settle: from a number of latent frames
// on the last one is repeated, and nothing is encoded any more.
type Conditioner struct {
	encoder *Encoder
	state   *VAEState
	picture []float32
	chunk   int // latent frames
	settle  int
	// latents are those that were encoded, next is the number of the next chunk.
	latents []float32
	next    int64
}

// Settled is from how many latent frames on the encoding of grey frames is the same to the last bit, whatever came before them: 30 for the
// VAE of Wan 2.1. A model that was trained with less may repeat its latents sooner.
func Settled(c weights.VAEConfig) int {
	const kernel = 3 - 1 // frames before its own that a convolution sees
	memory, rate := kernel, 1
	for i := range c.Multiples {
		memory += 2 * c.ResBlocks * kernel * rate
		if i < len(c.TimeHalved) && c.TimeHalved[i] {
			memory += kernel * rate
			rate *= 2
		}
	}
	memory += (2*2 + 1) * kernel * rate // the blocks in the middle and the last convolution
	return (memory+rate-1)/rate + 2
}

// NewConditioner begins a video of chunks of so many latent frames with a picture, rows of RGB in -1..1 of the encoder's size; nil is
// grey.
func NewConditioner(e *Encoder, chunk, settle int, picture []float32) (*Conditioner, error) {
	s, err := e.NewState()
	if err != nil {
		return nil, err
	}
	return newConditioner(e, s, chunk, settle, picture)
}

// newConditioner uses a state that is new.
func newConditioner(e *Encoder, s *VAEState, chunk, settle int, picture []float32) (*Conditioner, error) {
	if picture == nil {
		picture = make([]float32, 3*e.height*e.width)
	}
	if len(picture) != 3*e.height*e.width {
		return nil, fmt.Errorf("%w: a picture of %d numbers, want %dx%d", ErrInput, len(picture), e.width, e.height)
	}
	return &Conditioner{encoder: e, state: s, picture: picture, chunk: chunk, settle: settle}, nil
}

// Next are the tokens of the next chunk's condition, [tokens, 4 * (mask channels + Z)].
func (c *Conditioner) Next() ([]float32, error) {
	out, err := c.of(c.next)
	if err == nil {
		c.next++
	}
	return out, err
}

// of are the tokens of any chunk's condition.
func (c *Conditioner) of(chunk int64) ([]float32, error) {
	cfg := c.encoder.cfg
	z, h, w := cfg.Z, c.encoder.height/Stride(cfg), c.encoder.width/Stride(cfg)
	frame, all := h*w*z, maskChannels+z
	first := min(chunk*int64(c.chunk), int64(c.settle)) // beyond, every latent frame is the same
	for len(c.latents)/frame < min(int(first)+c.chunk, c.settle) {
		if err := c.encode(); err != nil {
			return nil, err
		}
	}
	out := make([]float32, c.chunk*h*w*all)
	for f := range c.chunk {
		latents := c.latents[min(int(first)+f, c.settle-1)*frame:]
		for i := range h * w {
			channels := out[(f*h*w+i)*all:][:all]
			if chunk == 0 && f == 0 {
				for m := range maskChannels {
					channels[m] = 1
				}
			}
			copy(channels[maskChannels:], latents[i*z:])
		}
	}
	return CutPatches(out, h, w, all), nil
}

// encode adds a chunk of latents: of the picture and grey frames, and later of grey frames alone.
func (c *Conditioner) encode() error {
	each := Frames(c.encoder.cfg)
	frames := each * c.chunk
	if len(c.latents) == 0 {
		frames -= each - 1
	}
	clip := make([]float32, frames*3*c.encoder.height*c.encoder.width)
	if len(c.latents) == 0 {
		copy(clip, c.picture)
	}
	more, err := c.encoder.Encode(c.state, clip)
	if err != nil {
		return err
	}
	c.latents = append(c.latents, more...)
	if len(c.latents) >= c.settle*c.encoder.cfg.Z*(c.encoder.height/Stride(c.encoder.cfg))*(c.encoder.width/Stride(c.encoder.cfg)) {
		c.state, c.picture = nil, nil
	}
	return nil
}
