package wan

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
	"telefuser/workers/models/world"
)

// WorldConfig is all that a camera-controlled world model is beside its weights.
type WorldConfig struct {
	VAE weights.VAEConfig
	DiT weights.DiTConfig
	// Width and Height are the pictures' in pixels, Chunk how many latent frames are made together.
	Width, Height, Chunk int
	// Sigmas are the noise levels of a chunk's steps, Times what the network calls them; nil: 1000 times the level.
	Sigmas, Times []float64
	// Window is how many latent frames a cache holds that grows with the video; 0: what the transformer's configuration says.
	Window int
	// Settle is after how many latent frames the condition stays the same; 0: where it is so to the last bit (Settled).
	Settle int
	// Tilt is the pitch of the first frame's camera, Scale the length of a chunk's longest move.
	Tilt, Scale float64
	// Type is that of activations, f32 (0) or bf16.
	Type kernels.DType
}

// WorldBackends are where the three parts run. Parts that may work at once need backends of their own.
type WorldBackends struct{ Encode, Denoise, Decode kernels.Backend }

// OnCPU is the processor for each part.
func OnCPU() WorldBackends {
	cpu := func() kernels.Backend { return kernels.NewCPU(kernels.CPUOptions{}) }
	return WorldBackends{Encode: cpu(), Denoise: cpu(), Decode: cpu()}
}

// World is a world model: an encoder for the first picture, a causal transformer that a camera steers, and a decoder. Calls of one part
// must not overlap; those of different parts may.
type World struct {
	cfg           WorldConfig
	encoder       *Encoder
	dit           *DiT
	sampler       *Distilled
	decoder       *Decoder
	prompts       []float32 // the table in place of a text encoder
	texts         map[int]*Text
	height, width int // of latents

	mu      sync.Mutex
	dropped []*Video
}

// NewWorld reads a world model.
func NewWorld(b WorldBackends, vae, dit *weights.Set, c WorldConfig) (*World, error) {
	if err := checkVAE(c.VAE); err != nil {
		return nil, err
	}
	stride := Stride(c.VAE)
	if c.DiT.Control != weights.Camera || c.DiT.Image > 0 || c.DiT.In == c.DiT.Out || stride != weights.PixelFold || c.Width%(stride*patch) != 0 || c.Height%(stride*patch) != 0 ||
		c.Settle < 0 || c.DiT.Out != c.VAE.Z {
		return nil, fmt.Errorf("%w: no world model of %dx%d", ErrConfig, c.Width, c.Height)
	}
	c.Settle = cmp.Or(c.Settle, Settled(c.VAE))
	w := &World{cfg: c, texts: map[int]*Text{}, height: c.Height / stride, width: c.Width / stride}
	var err error
	if w.encoder, err = NewEncoder(b.Encode, vae, c.VAE, c.Type, c.Chunk, c.Height, c.Width); err != nil {
		return nil, err
	}
	if w.dit, err = ReadDiT(b.Denoise, dit, c.DiT, c.Type); err != nil {
		return nil, err
	}
	if err = w.dit.Lay(DiTLayout{Chunk: c.Chunk, Height: w.height, Width: w.width, Window: c.Window}); err != nil {
		return nil, err
	}
	if w.sampler, err = NewDistilled(w.dit, c.Sigmas, c.Times); err != nil {
		return nil, err
	}
	if w.decoder, err = NewDecoder(b.Decode, vae, c.VAE, c.Type, c.Chunk, w.height, w.width); err != nil {
		return nil, err
	}
	if c.DiT.Prompts > 0 {
		if w.prompts, err = dit.Floats("prompts"); err != nil {
			return nil, fmt.Errorf("wan: %w", err)
		}
	}
	return w, nil
}

// Prompt are the keys and values of a row of the model's own table of texts. It belongs to the denoising part.
func (w *World) Prompt(row int) (*Text, error) {
	if row < 0 || row >= w.cfg.DiT.Prompts {
		return nil, fmt.Errorf("%w: text %d of %d", ErrInput, row, w.cfg.DiT.Prompts)
	}
	if w.texts[row] == nil {
		n := w.cfg.DiT.TextLen * w.cfg.DiT.TextDim
		t, err := w.dit.NewText(w.prompts[row*n : (row+1)*n])
		if err != nil {
			return nil, err
		}
		w.texts[row] = t
	}
	return w.texts[row], nil
}

// Video is one session of a world model: what its parts remember between chunks.
type Video struct {
	conditions *Conditioner
	given      *VAEState // of the encoder
	cache      *Cache
	frames     *VAEState
	text       *Text // of a prompt, where the model has no table
}

// Reserve takes the memory of so many videos now, so that those who begin later take none.
func (w *World) Reserve(videos int) error {
	for range videos {
		v, err := w.freshVideo()
		if err != nil {
			return err
		}
		w.Drop(v)
	}
	return nil
}

// freshVideo takes the memory of a video.
func (w *World) freshVideo() (*Video, error) {
	v := &Video{}
	var err error
	if v.given, err = w.encoder.NewState(); err != nil {
		return nil, err
	}
	if v.cache, err = w.dit.NewCache(); err != nil {
		return nil, err
	}
	if v.frames, err = w.decoder.NewState(); err != nil {
		return nil, err
	}
	if w.cfg.DiT.Prompts == 0 {
		v.text, err = w.dit.EmptyText()
	}
	return v, err
}

// NewVideo begins with a picture, rows of RGB in -1..1 of the model's size; nil is grey. It takes memory only where no video was dropped or reserved.
func (w *World) NewVideo(picture []float32) (*Video, error) {
	v, err := w.again()
	if v == nil && err == nil {
		v, err = w.freshVideo()
	}
	if err != nil {
		return nil, err
	}
	v.conditions, err = newConditioner(w.encoder, v.given, w.cfg.Chunk, w.cfg.Settle, picture)
	return v, err
}

// again makes a dropped video new; nil where there is none.
func (w *World) again() (*Video, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.dropped) == 0 {
		return nil, nil //nolint:nilnil // none is no error
	}
	v := w.dropped[len(w.dropped)-1]
	w.dropped = w.dropped[:len(w.dropped)-1]
	v.cache.restart()
	if err := w.encoder.restart(v.given); err != nil {
		return nil, err
	}
	return v, w.decoder.restart(v.frames)
}

// Drop ends a video. No part may still work for it; its memory goes to the next one.
func (w *World) Drop(v *Video) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v.conditions = nil
	w.dropped = append(w.dropped, v)
}

// Lead reads a text encoder's features into what leads a video. It belongs to the denoising part. The video has one text: what it answered before
// says the same from then on.
func (w *World) Lead(v *Video, features []float32) (*Text, error) {
	if v.text == nil {
		return nil, fmt.Errorf("%w: the model has a table of texts", ErrInput)
	}
	return v.text, w.dit.FillText(v.text, features)
}

// Capacity is how many latent frames a video may have; 0: no end.
func (w *World) Capacity() int64 {
	if w.cfg.DiT.Local > 0 {
		return 0
	}
	return int64(w.dit.window)
}

// FrameBytes is the memory that each latent frame takes which a video may have, or which its window holds.
func (w *World) FrameBytes() int64 { return w.dit.CacheBytes() / int64(w.dit.window) }

// Shorten has videos end sooner, after so many latent frames: whole chunks, at least two. It is for models that keep all of a video, before their first one.
func (w *World) Shorten(latents int) error {
	if w.Capacity() == 0 || latents > w.dit.window || latents < 2*w.cfg.Chunk || latents%w.cfg.Chunk != 0 {
		return fmt.Errorf("%w: room for %d latent frames in chunks of %d", ErrConfig, latents, w.cfg.Chunk)
	}
	w.dit.window = latents
	return nil
}

// Condition is the first part of a chunk: the tokens of what is given. It needs no controls, so it may run ahead.
func (w *World) Condition(v *Video) ([]float32, error) { return v.conditions.Next() }

// Denoise is the second part: it answers the chunk's latents [chunk, height/8, width/8, Z]. When ctx ends, nothing has changed.
func (w *World) Denoise(ctx context.Context, v *Video, text *Text, condition []float32, s world.Snapshot, noise Noise) ([]float32, error) {
	if err := w.begin(v.cache, condition, s); err != nil {
		return nil, err
	}
	tokens, err := w.sampler.Run(ctx, v.cache, text, noise)
	if err != nil {
		return nil, err
	}
	return JoinPatches(tokens, w.height, w.width, w.cfg.DiT.Out), nil
}

// begin makes ready what the steps of a chunk share.
func (w *World) begin(c *Cache, condition []float32, s world.Snapshot) error {
	if len(s.Poses) != w.cfg.Chunk {
		return fmt.Errorf("%w: %d poses for %d latents", ErrInput, len(s.Poses), w.cfg.Chunk)
	}
	moves := world.Relatives(s.From, s.Poses, w.cfg.Tilt, w.cfg.Scale)
	rays, err := world.Rays(moves, world.DefaultIntrinsics(w.cfg.Width, w.cfg.Height), w.cfg.Width, w.cfg.Height)
	if err != nil {
		return err
	}
	return w.dit.Begin(c, condition, rays)
}

// Decode is the third part: rows of RGB in -1..1, 4n-3 frames of a video's first chunk and 4n of each later one.
func (w *World) Decode(v *Video, latents []float32) ([]float32, error) {
	return w.decoder.Decode(v.frames, latents)
}

// Frames is Decode that answers the frames as I420 planes, 8 bits a sample, one frame after the other.
func (w *World) Frames(v *Video, latents []float32) ([]byte, error) {
	return w.decoder.Frames(v.frames, latents)
}

// SessionBytes is the memory that a video takes beside the model's own.
func (w *World) SessionBytes() int64 {
	bytes := w.encoder.StateBytes() + w.decoder.StateBytes() + w.dit.CacheBytes()
	if w.cfg.DiT.Prompts == 0 {
		bytes += w.dit.TextBytes()
	}
	return bytes
}
