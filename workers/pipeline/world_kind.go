package pipeline

import (
	"telefuser/workers/contract"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
	"telefuser/workers/models/world"
)

// worldKind is what tells one model of a world that a camera is flown through from another.
type worldKind struct {
	contract contract.Contract
	shape    modelShape
	steps    world.Steps
	// latents is how many latent frames a chunk has, schedule gives the noise levels of its steps and what the network calls them, as in wan.WorldConfig.
	latents  int
	schedule func() (sigmas, times []float64, err error)
	// settle is after how many latent frames the condition stays the same, window how many a cache holds that grows with the video (0: it does not).
	settle, window int
	// words is the model's table of texts; nil where it has a text encoder.
	words *worldWords
	// draws says that a first picture is drawn where a request has none, tours that a bounded request without a camera flies about.
	draws, tours bool
	// keeps is what chunks carry for another session to go on from.
	keeps keeping
}

// keeping is what a chunk's state holds.
type keeping int

const (
	keepsNothing keeping = iota
	// keepsWindow holds the first picture and the latents of the window: the same world.
	keepsWindow
	// keepsPicture holds the last picture of a live session, whose window would be too much: another session begins with it where the camera stands.
	keepsPicture
)

// width and height are those of all pictures, in pixels.
func (k worldKind) width() int  { return k.contract.Geometry.DefaultWidth }
func (k worldKind) height() int { return k.contract.Geometry.DefaultHeight }

// pictureBytes are those of a picture in RGB, latentBytes those of a chunk's latents in bf16.
func (k worldKind) pictureBytes() int { return k.width() * k.height() * 3 }

func (k worldKind) latentBytes() int {
	stride := wan.Stride(k.shape.vae)
	return k.latents * (k.width() / stride) * (k.height() / stride) * k.shape.vae.Z * 2
}

// config is how the model is run with weights of a shape. What a file does not say of the window is the kind's.
func (k worldKind) config(vae weights.VAEConfig, dit weights.DiTConfig) (wan.WorldConfig, error) {
	sigmas, times, err := k.schedule()
	if dit.Local <= 0 {
		dit.Local, dit.Sink = k.shape.dit.Local, k.shape.dit.Sink
	}
	return wan.WorldConfig{
		VAE: vae, DiT: dit, Width: k.width(), Height: k.height(), Chunk: k.latents, Sigmas: sigmas, Times: times, Settle: k.settle,
		Window: k.window, Tilt: k.steps.Tilt, Scale: 1,
	}, err
}
