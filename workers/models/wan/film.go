package wan

import (
	"context"
	"fmt"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// FilmConfig is all that a model of whole videos is beside its weights.
type FilmConfig struct {
	VAE weights.VAEConfig
	// DiT is the shape of each transformer.
	DiT weights.DiTConfig
	// Boundary is the noise level from which on, upwards, the first of two transformers works; it means nothing with one.
	Boundary float64
	// Given says that a picture, where there is one, is the video's first latent frame.
	Given bool
	// Chunk is how many latent frames the VAE takes at once, Settle after how many of them a picture's condition stays the same.
	Chunk, Settle int
	// Type is that of activations, f32 (0) or bf16.
	Type kernels.DType
}

// Film is a model that denoises a whole video at once: an encoder for a picture, where the model begins with one, one transformer or two of them, and
// a decoder. One video is made at a time; its size is its own.
type Film struct {
	cfg     FilmConfig
	parts   []*ledger
	encoder *Encoder // nil where no picture can be given
	dits    []*DiT
	decoder *Decoder
}

// NewFilm reads a model. There is one set of weights for each transformer, that for much noise first.
func NewFilm(b WorldBackends, vae *weights.Set, dits []*weights.Set, c FilmConfig) (*Film, error) {
	if err := errorsFirst(checkVAE(c.VAE), checkDiT(c.DiT)); err != nil {
		return nil, err
	}
	if c.Given && c.DiT.In != c.DiT.Out || c.DiT.Image > 0 && c.DiT.In == c.DiT.Out || c.DiT.Control != weights.NoControl || c.DiT.Out != c.VAE.Z || c.DiT.Local > 0 ||
		len(dits) < 1 || len(dits) > 2 || c.Chunk < 1 || c.Settle < 1 {
		return nil, fmt.Errorf("%w: no model of whole videos", ErrConfig)
	}
	f := &Film{cfg: c}
	for _, at := range []*kernels.Backend{&b.Encode, &b.Denoise, &b.Decode} {
		l := &ledger{Backend: *at}
		*at, f.parts = l, append(f.parts, l)
	}
	var err error
	if f.readsPicture() || c.Given {
		if f.encoder, err = ReadEncoder(b.Encode, vae, c.VAE, c.Type); err != nil {
			return nil, err
		}
	}
	for _, set := range dits {
		m, err := ReadDiT(b.Denoise, set, c.DiT, c.Type)
		if err != nil {
			return nil, err
		}
		f.dits = append(f.dits, m)
	}
	if f.decoder, err = ReadDecoder(b.Decode, vae, c.VAE, c.Type); err != nil {
		return nil, err
	}
	for _, l := range f.parts {
		l.keep()
	}
	return f, nil
}

// readsPicture says that the transformer reads a picture beside the latents, without which there is no video.
func (f *Film) readsPicture() bool { return f.cfg.DiT.In > f.cfg.DiT.Out }

// Take is one video on its way.
type Take struct {
	film                   *Film
	latents, height, width int // latent frames, and pixels
	cache                  *Cache
	frames                 *VAEState
	condition              []float32
	known                  []float32 // tokens of the first latent frame, where it is given
	guides                 []Guide
	sights                 []*Sight // one for each transformer that reads a picture's features
}

// Begin lays the model out for a video of so many latent frames and pixels. The video before must be done with.
func (f *Film) Begin(latents, height, width int) (*Take, error) {
	stride := Stride(f.cfg.VAE)
	if latents < 1 || height < 1 || width < 1 || height%(stride*patch) != 0 || width%(stride*patch) != 0 {
		return nil, fmt.Errorf("%w: %d latent frames of %dx%d", ErrInput, latents, width, height)
	}
	for _, l := range f.parts {
		if err := l.giveBack(); err != nil {
			return nil, fmt.Errorf("wan: the video before: %w", err)
		}
	}
	h, w := height/stride, width/stride
	for i, m := range f.dits {
		err := error(nil)
		if i == 0 {
			err = m.Lay(DiTLayout{Chunk: latents, Height: h, Width: w})
		} else {
			err = m.LayLike(f.dits[0])
		}
		if err != nil {
			return nil, err
		}
	}
	if err := f.decoder.Lay(f.cfg.Chunk, h, w); err != nil {
		return nil, err
	}
	t := &Take{film: f, latents: latents, height: height, width: width}
	var err error
	if t.cache, err = f.dits[0].NewCache(); err != nil {
		return nil, err
	}
	t.frames, err = f.decoder.NewState()
	return t, err
}

// Picture is what the video begins with, rows of RGB in -1..1 of its size. It belongs to the encoding part, and must be there before Walk where the
// transformer reads it.
func (t *Take) Picture(picture []float32) error {
	f := t.film
	switch {
	case f.encoder == nil:
		return fmt.Errorf("%w: the model begins with no picture", ErrInput)
	case f.cfg.Given:
		return t.first(picture)
	}
	if err := f.encoder.Lay(f.cfg.Chunk, t.height, t.width); err != nil {
		return err
	}
	c, err := NewConditioner(f.encoder, f.cfg.Chunk, f.cfg.Settle, picture)
	if err != nil {
		return err
	}
	var all []float32
	for at := 0; at < t.latents; at += f.cfg.Chunk {
		tokens, err := c.Next()
		if err != nil {
			return err
		}
		all = append(all, tokens...)
	}
	t.condition = all[:len(all)/(f.cfg.Chunk*((t.latents+f.cfg.Chunk-1)/f.cfg.Chunk))*t.latents]
	return nil
}

// first makes the picture the first latent frame.
func (t *Take) first(picture []float32) error {
	e := t.film.encoder
	if err := e.Lay(1, t.height, t.width); err != nil {
		return err
	}
	state, err := e.NewState()
	if err != nil {
		return err
	}
	latents, err := e.Encode(state, picture)
	if err != nil {
		return err
	}
	stride := Stride(e.cfg)
	t.known = CutPatches(latents, t.height/stride, t.width/stride, e.cfg.Z)
	return nil
}

// Lead says what leads the video, by a text encoder's features: towards the first text, and away from the second where there is one. scales are those of
// each transformer, the one for much noise first.
func (t *Take) Lead(towards, against []float32, scales []float64) error {
	if len(scales) != len(t.film.dits) {
		return fmt.Errorf("%w: %d scales for %d transformers", ErrInput, len(scales), len(t.film.dits))
	}
	t.guides = nil
	for i, m := range t.film.dits {
		g := Guide{Scale: scales[i]}
		var err error
		if g.Text, err = m.NewText(towards); err != nil {
			return err
		}
		if against != nil && g.Scale != 1 {
			if g.Against, err = m.NewText(against); err != nil {
				return err
			}
		}
		t.guides = append(t.guides, g)
	}
	return nil
}

// Walk makes the video's latents [latents, height/8, width/8, Z] from noise, along a solver. moved is called after each layer with the share of all layers of
// all steps that is done. When ctx ends between two layers, Walk stops with its cause.
func (t *Take) Walk(ctx context.Context, s Solver, noise Noise, moved func(share float64)) ([]float32, error) {
	f := t.film
	if len(t.guides) == 0 || f.readsPicture() && t.condition == nil {
		return nil, fmt.Errorf("%w: nothing leads the video", ErrInput)
	}
	times := s.Times()
	layers, all := 0, 0
	layer := func() {
		layers++
		moved(float64(layers) / float64(all))
	}
	var walkers []walker
	for i, m := range f.dits {
		made, err := m.NewTimes(append(times, 0))
		if err != nil {
			return nil, err
		}
		known := given{len(t.known) / (m.cfg.Out * patch * patch), len(times)}
		walkers = append(walkers, walker{dit: m, cache: t.cache, times: made, guide: t.guide(i), given: known, between: m.between(ctx, layer)})
	}
	which := func(step int) int {
		if len(walkers) > 1 && times[step] < f.cfg.Boundary*timesPerSigma {
			return 1
		}
		return 0
	}
	for step := range times {
		all += f.cfg.DiT.Layers * walkers[which(step)].guide.passes()
	}
	first := f.dits[0]
	if err := noise(first.backend, 0, first.work.latents, 1); err != nil {
		return nil, fmt.Errorf("wan: noise: %w", err)
	}
	tokens, err := read(first.backend, first.work.latents)
	if err != nil {
		return nil, fmt.Errorf("wan: noise: %w", err)
	}
	present := -1
	of := func(step int) (walker, error) {
		i := which(step)
		if i != present { // what the steps share lies in the work space of both
			present = i
			if err := walkers[i].dit.Begin(t.cache, t.condition, nil); err != nil {
				return walker{}, err
			}
		}
		return walkers[i], nil
	}
	if err := walk(ctx, s, of, t.known, tokens, func(int) {}); err != nil {
		return nil, err
	}
	stride := Stride(f.cfg.VAE)
	return JoinPatches(tokens, t.height/stride, t.width/stride, f.cfg.DiT.Out), nil
}

// Frames makes the frames of the next latents, at most a chunk of them, as I420 planes: one frame for the video's first latent frame and four for each
// other one.
func (t *Take) Frames(latents []float32) ([]byte, error) {
	return t.film.decoder.Frames(t.frames, latents)
}
